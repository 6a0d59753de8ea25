package frozen

// A Binding connects the thinking of a message with the prompt for which the model produced it. A model that binds its
// thinking accepts the thinking only after exactly this prompt.
type Binding struct {
	// MessageKey names the assistant message that holds the thinking.
	MessageKey string
	// Prompt identifies the request that the message answered: its preamble
	// (tools and system prompt) and its messages.
	Prompt string
	// Lost means that the prompt has changed since. Lost thinking never comes back.
	Lost bool
}

// Binding returns the binding of a message's thinking. If it returns nil, the caller must treat the thinking as lost.
func (s *State) Binding(messageKey string) *Binding { return s.bindings[messageKey] }

// Bind adds bindings. If a message already has a binding, it keeps this binding.
func (s *State) Bind(bindings ...Binding) {
	for _, b := range bindings {
		if s.bindings[b.MessageKey] == nil {
			s.bindings[b.MessageKey] = &b
		}
	}
}

func (s *State) Lose(messageKeys []string) {
	for _, key := range messageKeys {
		if b := s.bindings[key]; b != nil {
			b.Lost = true
		}
	}
}
