package pipeline

import "github.com/magicctx/magicctx-host/pipeline/transcript"

// MarkerProvider is the name of the provider in the summary of the host's compaction marker.
const MarkerProvider = "magicctx"

// isMarker reports whether the entry is the summary of the host's marker. While a host runs, the model never gets the
// text of this summary, because the host puts the head in its place.
func (e *entry) isMarker() bool { return e.header.summary && e.header.wrote.Provider == MarkerProvider }

// isBoundary reports whether entry i is the prompt at which the marker was set. This is the last prompt before the
// marker's summary.
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
