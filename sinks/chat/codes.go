package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// busyFor is how long a service is left alone that has had too many messages and does not say for how long, where its limit is by the
// minute.
const busyFor = time.Minute

// codes are the codes of a service, under the status of a success, that say more than "not now". 0 is that it has taken the message. All others
// are about the robot: a wrong token or signature, a word or address that its settings want, a group that is gone. A person mends those, and then
// everything must arrive.
type codes struct {
	busy    []int // too many messages
	busyFor time.Duration
	message []int // it will never take this one
}

// dingTalkCodes are those of custom robots, which answer {"errcode":0,"errmsg":"ok"}:
// https://open.dingtalk.com/document/orgapp/custom-robots-send-group-messages. With more than 20 messages in a minute a robot is blocked for ten
// (410100; older servers say 130101). 4301xx are links and texts that it finds unfit, 460101 is more than 20,000 bytes. 40035 is a parameter that
// is missing, which is said of a URL without its token, too, and so not about the message; 310000 is the robot's security settings.
func dingTalkCodes() codes {
	return codes{busy: []int{130101, 410100}, busyFor: 10 * time.Minute, message: []int{430101, 430102, 430103, 430104, 460101}}
}

// weComCodes are those of the bots of groups, which answer {"errcode":0,"errmsg":"ok"}: https://developer.work.weixin.qq.com/document/path/91770,
// and the codes of all interfaces at https://developer.work.weixin.qq.com/document/path/90455. 45009 is more than 20 messages in a minute, 44004 an
// empty text, 45002 and 40058 one that is too long. 93000 is a wrong key. 40008, a kind of message that is not known, is not about what the text says.
func weComCodes() codes {
	return codes{busy: []int{45009}, busyFor: busyFor, message: []int{40058, 44004, 45002}}
}

// larkCodes are those of custom bots, which answer {"code":0,"msg":"success"}: https://open.feishu.cn/document/ukTMukTMukTM/ucTM5YjL3ETO24yNxkjN.
// 11232 is too many messages, of this bot or at a busy time; 19002 are parameters that it does not understand. 19021, 19022 and 19024 are its signature,
// its addresses and its keywords. 9499 says both that a body cannot be read and that there are too many requests, so it is tried again.
func larkCodes() codes {
	return codes{busy: []int{11232}, busyFor: busyFor, message: []int{19002}}
}

// errNoCode is the answer of something else than the robot that the template is for.
var errNoCode = errors.New("the answer has no code: the url may not be that of such a robot, see docs/channels.md")

// read judges an answer: errcode and errmsg, or code and msg.
func (c codes) read(body []byte) error {
	var told struct {
		ErrCode *int   `json:"errcode"`
		ErrMsg  string `json:"errmsg"`
		Code    *int   `json:"code"`
		Msg     string `json:"msg"`
	}
	if err := json.Unmarshal(body, &told); err != nil {
		return errNoCode
	}
	code, words := told.ErrCode, told.ErrMsg
	if code == nil {
		code, words = told.Code, told.Msg
	}
	switch {
	case code == nil:
		return errNoCode
	case *code == 0:
		return nil
	}
	err := fmt.Errorf("the answer is %d: %q", *code, words)
	switch {
	case slices.Contains(c.busy, *code):
		return &laterError{after: c.busyFor, err: err}
	case slices.Contains(c.message, *code):
		return &noticeError{err}
	default:
		return err
	}
}
