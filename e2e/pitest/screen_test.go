package pitest

import (
	"slices"
	"testing"
)

func TestScreen(t *testing.T) {
	for _, tc := range []struct {
		name   string
		output []string
		want   []string
	}{
		{"lines", []string{"one\r\ntwo"}, []string{"one", "two", ""}},
		{"a line that is too long goes on in the next one", []string{"1234567"}, []string{"12345", "67", ""}},
		{"a full screen moves up", []string{"a\r\nb\r\nc\r\nd"}, []string{"b", "c", "d"}},
		{"colours and titles are not seen", []string{"\x1b[31mred\x1b[0m\x1b]0;title\a!"}, []string{"red!", "", ""}},
		{"a line is drawn anew", []string{"old\r\nnew\x1b[1A\r\x1b[2KX"}, []string{"X", "new", ""}},
		{"the screen is cleared", []string{"old\x1b[2J\x1b[2;3Hx"}, []string{"", "  x", ""}},
		{"a sequence in two pieces", []string{"a\x1b[", "2Cb\xe2\x82", "\xac"}, []string{"a  b€", "", ""}},
	} {
		s := newScreen(5, 3)
		for _, out := range tc.output {
			s.write(out)
		}
		if got := s.lines(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
