package pipeline

// MarkerProvider is the provider that the summary of the host's compaction marker
// names.
const MarkerProvider = "magicctx"

// isMarker reports whether the message is the summary of the host's compaction marker.
// No provider sees it as long as the head covers the marker's place.
func (e *entry) isMarker() bool { return e.header.summary && e.header.wrote.Provider == MarkerProvider }

// Marker returns the key of the message that the array begins with because of the host's
// compaction marker. The key is empty if the array begins with the session's first
// message, or if the harness has compacted the session itself.
func (s *Session) Marker() (boundary string) {
	for i := range s.entries {
		if s.entries[i].isMarker() {
			return s.entries[0].header.key
		}
	}
	return ""
}
