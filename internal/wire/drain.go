package wire

import (
	"encoding/xml"
	"time"
)

// States of DrainForm.
const (
	DrainNone = "in_service"
	DrainRuns = "draining"
	DrainDone = "drained"
)

// DrainForm says whether a node goes out of service.
type DrainForm struct {
	XMLName xml.Name   `json:"-" xml:"drain"`
	Node    string     `json:"node" xml:"node" doc:"the node that answers, and whose state this is"`
	State   string     `json:"state" xml:"state" enum:"in_service,draining,drained" doc:"draining: the node begins nothing new, finishes its runs and gives its lanes back; drained: streams and polls that waited have ended, too, and the process can be stopped"`
	Since   *time.Time `json:"since,omitempty" xml:"since,omitempty" doc:"when the drain began"`
}

// DrainAskForm asks a node to go out of service.
type DrainAskForm struct {
	Node string `json:"node" minLength:"1" maxLength:"64" doc:"the name of the node. Another node that gets the request, because a load balancer stands between, refuses it"`
}
