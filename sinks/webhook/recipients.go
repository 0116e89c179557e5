package webhook

import (
	"bytes"
	"encoding/json"

	"tallyman/internal/delivery"
	"tallyman/internal/text"
)

// recipientForm is the form of a recipient in the body of a call.
type recipientForm struct {
	ID       string            `json:"id"`
	Name     string            `json:"name,omitempty"`
	Language string            `json:"language,omitempty"`
	Mail     []string          `json:"mail,omitempty"`
	Phone    string            `json:"phone,omitempty"`
	Alias    string            `json:"alias,omitempty"`
	Tags     []string          `json:"tags,omitempty"`
	Channels map[string]string `json:"channels,omitempty"`
}

// noticeJSON returns the notice of a delivery, with its recipients as the last member. Without recipients it has no
// such member.
func noticeJSON(d *delivery.Delivery, to []delivery.Subscriber) ([]byte, error) {
	body, err := d.Notice.MarshalJSON()
	if err != nil || len(to) == 0 {
		return body, err
	}
	forms := make([]recipientForm, len(to))
	for i := range to {
		forms[i] = recipientForm(to[i])
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(forms); err != nil {
		return nil, err
	}
	list := text.EscapeJSON(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	out := make([]byte, 0, len(body)+len(list)+len(`,"recipients":`))
	out = append(append(out, bytes.TrimSuffix(body, []byte("}"))...), `,"recipients":`...)
	return append(append(out, list...), '}'), nil
}

// addressesOf returns the addresses of a recipient, which no error may show.
func addressesOf(s *delivery.Subscriber) []string {
	list := append([]string{s.Phone}, s.Mail...)
	for _, address := range s.Channels {
		list = append(list, address)
	}
	return list
}
