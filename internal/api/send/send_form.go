package send

import (
	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/notice"
	"tallyman/internal/wire"
)

// limitNotices gives the schemas of what is sent the limits of a notice.
func limitNotices(doc *huma.OpenAPI) {
	schemas := doc.Components.Schemas.Map()
	schemas["Send"].Properties["notices"].MaxItems = new(notice.MaxRequest)
	setTextLimits(schemas["SendText"])
	s := schemas["SendNotice"]
	setTextLimits(s)
	s.Properties["warehouse"].MaxLength = new(notice.MaxName)
	s.Properties["texts"].MaxProperties = new(notice.MaxLanguages)
	s.Properties["priority"].Minimum, s.Properties["priority"].Maximum = new(float64(notice.LowestPriority)), new(float64(notice.HighestPriority))
	labels := s.Properties["labels"]
	labels.MaxProperties = new(notice.MaxLabels)
	if of, ok := labels.AdditionalProperties.(*huma.Schema); ok {
		of.MaxLength = new(notice.MaxLabel)
	}
	recipients := s.Properties["recipients"]
	recipients.MaxItems, recipients.Items.MaxLength = new(notice.MaxRecipients), new(len("user:")+api.MaxSubscriberID)
	s.Properties["deliver"].MaxItems = new(notice.MaxSinks)
}

func setTextLimits(s *huma.Schema) {
	s.Properties["title"].MaxLength, s.Properties["body"].MaxLength = new(notice.MaxTitle), new(notice.MaxBody)
}

type (
	sendInput struct {
		Key  string `header:"Idempotency-Key" doc:"at most 255 printable characters; who repeats a request under the same key sends nothing twice"`
		Body wire.SendForm
	}
	sendOutput struct {
		Status int
		Body   wire.SentForm
	}
)
