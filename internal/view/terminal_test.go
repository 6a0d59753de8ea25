package view

import "testing"

func TestFrameOverwritesTheLastOne(t *testing.T) {
	if got, want := Frame("a\nb"), "\x1b[Ha\x1b[K\r\nb\x1b[K\x1b[J"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
