package pipeline

import "github.com/magicctx/magicctx-host/pipeline/transcript"

// MarkerProvider is the name of the provider in the summary of the host's compaction marker.
const MarkerProvider = "magicctx"

// isMarker reports whether the message is the summary of the host's compaction marker. The summary is for the time when
// no host runs, so it is never on the wire.
func (e *entry) isMarker() bool { return e.header.summary && e.header.wrote.Provider == MarkerProvider }

// isBoundary reports whether entry i is the prompt with the host's compaction marker. The harness puts the marker's
// summary after this prompt, and before the next prompt.
func (s *array) isBoundary(i int) bool {
	if s.entries[i].header.role != transcript.User {
		return false
	}
	for i++; i < len(s.entries) && s.entries[i].header.role != transcript.User; i++ {
		if s.entries[i].isMarker() {
			return true
		}
	}
	return false
}

// If the array begins at the host's compaction marker, Marker returns the key of its first message. The key is empty if
// the array begins with the session's first message, or if the harness has compacted the session itself.
func (s *array) Marker() (boundary string) {
	for i := range s.entries {
		if s.entries[i].isMarker() {
			return s.entries[0].header.key
		}
	}
	return ""
}
