package transcript

import "github.com/magicctx/magicctx-host/internal/json"

type piHeadStep struct {
	ID      string        `json:"id"`
	Message piHeadMessage `json:"message"`
}

type piHeadMessage struct {
	Role       string        `json:"role"`
	Content    []piHeadBlock `json:"content"`
	Timestamp  int           `json:"timestamp"`
	Provider   string        `json:"provider,omitzero"`
	Model      string        `json:"model,omitzero"`
	StopReason string        `json:"stopReason,omitzero"`
	Usage      json.Value    `json:"usage,omitzero"`
}

type piHeadBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Head returns the head as messages of Pi. The times in these messages are 0, because no provider sees them. Pi's shim
// sets the cache breakpoint after the acknowledgement, in the finished request.
func (c Pi) Head(h Head) []json.Value {
	step := func(key, role, text string) piHeadStep {
		return piHeadStep{key, piHeadMessage{Role: role, Content: []piHeadBlock{{"text", text}}}}
	}
	acknowledgement := step(AcknowledgementKey, "assistant", h.Acknowledgement)
	m := &acknowledgement.Message
	m.Provider, m.Model, m.StopReason, m.Usage = h.Model.Provider, h.Model.ID, "stop", c.UsageValue(Usage{})
	return encoded(step(BaselineKey, "user", h.Baseline), acknowledgement, step(DeltaKey, "user", h.Delta))
}
