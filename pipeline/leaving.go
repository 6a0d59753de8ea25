package pipeline

// Leaving estimates how many tokens the next bust will remove if the historian does not run before it. The bust will
// replace messages with the published compartments that the head does not show yet, and make the queued drops. Leaving
// counts tokens as the host does, not as the provider does.
func (s *content) Leaving(published *History) int {
	shown := s.standing(published)
	from := s.coveredBy(s.State.Head)
	to, tokens := from, 0
	for i := range shown[min(len(shown), s.State.Head.Shows()):] {
		c := &shown[s.State.Head.Shows()+i]
		if end, ok := s.index[c.EndKey()]; ok {
			to = max(to, end+1)
		}
		tokens -= len(c.Tiers[0]) / BytesPerToken
	}
	for i := from; i < to; i++ {
		tokens += s.tokensOf(&s.entries[i])
	}
	for _, q := range s.State.Queue() {
		u := s.State.ByTag(q.Tag)
		if u == nil {
			continue
		}
		if i, ok := s.index[u.MessageKey]; ok && i >= to {
			tokens += u.Left()
		}
	}
	return max(0, tokens)
}
