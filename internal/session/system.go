package session

import (
	"time"
)

// IsSystemOld reports whether the frozen system prompt is from an earlier day, so that it may be replaced. A
// system prompt without a date stays valid.
func (s *Session) IsSystemOld(now int64) bool {
	return s.Pipe.Codec.Vocabulary().System.Date != nil && !s.SystemComesFirst() && isEarlierDay(s.Row.System.At, now)
}

// The harness uses this machine's time zone, so isEarlierDay does, too. a and b are in Unix ms.
func isEarlierDay(a, b int64) bool {
	year, day := time.UnixMilli(a).Year(), time.UnixMilli(a).YearDay()
	now := time.UnixMilli(b)
	return a > 0 && a < b && (year != now.Year() || day != now.YearDay())
}

// SystemComesFirst reports whether the harness asks for a turn's system prompt before the turn's first pass.
func (s *Session) SystemComesFirst() bool {
	return s.Pipe != nil && s.Pipe.Codec.Vocabulary().System.ComesFirst
}

// IsSystemChanged reports whether this turn's system prompt differs from the one at the last stored pass. The next pass
// is then a bust.
func (s *Session) IsSystemChanged() bool { return s.SystemComesFirst() && s.Row.System.Pending }

// IsSystemNew reports whether this turn's requests use a frozen system prompt that no pass has seen yet.
func (s *Session) IsSystemNew() bool {
	return s.SystemComesFirst() && s.Row.System.Text != "" && s.Row.System.Preamble > s.Row.Setup.Preamble
}
