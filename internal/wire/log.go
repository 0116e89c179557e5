package wire

import "encoding/xml"

// LogForm is the level of a node's log: the level now, and the level in the configuration.
type LogForm struct {
	XMLName    xml.Name `json:"-" xml:"log"`
	Node       string   `json:"node" xml:"node" doc:"the node that answers, and whose level this is"`
	Level      string   `json:"level" xml:"level" enum:"debug,info,warn,error" doc:"the least level that is written now"`
	Configured string   `json:"configured" xml:"configured" enum:"debug,info,warn,error" doc:"the level of the configuration, which counts again after a restart"`
}

// LogLevelAskForm asks for another level of the log.
type LogLevelAskForm struct {
	Level string `json:"level" enum:"debug,info,warn,error" doc:"the least level that is written from now on"`
}
