package transcript

import "github.com/magicctx/magicctx-host/internal/json"

type oc2HeadStep struct {
	ID      string         `json:"id"`
	Info    oc2HeadInfo    `json:"info"`
	Message oc2HeadMessage `json:"message"`
}

type oc2HeadInfo struct {
	Type       string `json:"type"`
	ProviderID string `json:"providerID,omitzero"`
	ModelID    string `json:"modelID,omitzero"`
	Finish     string `json:"finish,omitzero"`
}

type oc2HeadMessage struct {
	ID      string        `json:"id"`
	Role    string        `json:"role"`
	Content []piHeadBlock `json:"content"`
}

// Head sets no breakpoint, because OpenCode 2 accepts a breakpoint only as an instance of a class that no plugin can
// reach.
func (OpenCode2) Head(h Head) []json.Value {
	step := func(key, role, text string) oc2HeadStep {
		return oc2HeadStep{ID: key, Info: oc2HeadInfo{Type: "synthetic"}, Message: oc2HeadMessage{ID: key, Role: role, Content: []piHeadBlock{{"text", text}}}}
	}
	acknowledgement := step(AcknowledgementKey, "assistant", h.Acknowledgement)
	acknowledgement.Info = oc2HeadInfo{"assistant", h.Model.Provider, h.Model.ID, "stop"}
	return encoded(step(BaselineKey, "user", h.Baseline), acknowledgement, step(DeltaKey, "user", h.Delta))
}
