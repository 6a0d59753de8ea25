package pipeline

import "github.com/magicctx/magicctx-host/pipeline/transcript"

// MarkerProvider is the name of the provider in the summary of the host's compaction marker.
const MarkerProvider = "magicctx"

// The summary of the host's marker is for the time when no host runs, so it is never on the wire.
func (e *entry) isMarker() bool { return e.header.summary && e.header.wrote.Provider == MarkerProvider }

// The harness puts the marker's summary after this prompt, and before the next prompt.
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

// Marker returns the key of the first message if the array begins at the host's compaction marker, and otherwise "".
func (s *array) Marker() (boundary string) {
	for i := range s.entries {
		if s.entries[i].isMarker() {
			return s.entries[0].header.key
		}
	}
	return ""
}
