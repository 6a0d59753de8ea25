package transcript

import "github.com/magicctx/magicctx-host/internal/json"

type ocHeadMessage struct {
	Info  ocHeadInfo   `json:"info"`
	Parts []ocHeadPart `json:"parts"`
}

type ocHeadInfo struct {
	ID         string     `json:"id"`
	Role       Role       `json:"role"`
	Time       ocHeadTime `json:"time"`
	ProviderID string     `json:"providerID,omitzero"`
	ModelID    string     `json:"modelID,omitzero"`
	Finish     string     `json:"finish,omitzero"`
}

type ocHeadTime struct {
	Created   int `json:"created"`
	Completed int `json:"completed,omitzero"`
}

// Every text of the head is marked as synthetic, so that OpenCode does not count it as a prompt of the user. OpenCode
// generates the title of a session only while the session has a single prompt. If it counted the head, the session
// would never get a title.
type ocHeadPart struct {
	ID        string                     `json:"id"`
	Type      string                     `json:"type"`
	Text      string                     `json:"text"`
	Synthetic bool                       `json:"synthetic"`
	Metadata  map[Breakpoint]ocHeadCache `json:"metadata,omitzero"`
}

type ocHeadCache struct {
	CacheControl *ocCachePoint `json:"cacheControl,omitzero"`
	CachePoint   *ocCachePoint `json:"cachePoint,omitzero"`
}

type ocCachePoint struct {
	Type string `json:"type"`
}

var ocBreakpoints = map[Breakpoint]ocHeadCache{
	AnthropicBreakpoint: {CacheControl: &ocCachePoint{"ephemeral"}},
	BedrockBreakpoint:   {CachePoint: &ocCachePoint{"default"}},
}

// All times are 0, because they reach no provider.
func (OpenCode) Head(h Head) []json.Value {
	user := func(key, text string) ocHeadMessage {
		return ocHeadMessage{ocHeadInfo{ID: key, Role: User}, []ocHeadPart{{ID: key, Type: "text", Text: text, Synthetic: true}}}
	}
	acknowledgement := ocHeadMessage{
		ocHeadInfo{ID: AcknowledgementKey, Role: Assistant, ProviderID: h.Model.Provider, ModelID: h.Model.ID, Finish: "stop"},
		[]ocHeadPart{{ID: AcknowledgementKey, Type: "text", Text: h.Acknowledgement, Synthetic: true}},
	}
	if point, ok := ocBreakpoints[h.Breakpoint]; ok {
		acknowledgement.Parts[0].Metadata = map[Breakpoint]ocHeadCache{h.Breakpoint: point}
	}
	return encoded(user(BaselineKey, h.Baseline), acknowledgement, user(DeltaKey, h.Delta))
}

func encoded[T any](values ...T) []json.Value {
	raws := make([]json.Value, len(values))
	for i, v := range values {
		raws[i], _ = json.Marshal(v)
	}
	return raws
}
