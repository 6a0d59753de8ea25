package terminal

import (
	"context"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/magicctx/magicctx-host/internal/view"
)

// Prepare switches to the alternate screen and to raw mode. In raw mode typed characters do not
// disturb the view, and ctrl-c arrives as a key.
func Prepare(in, out *os.File) (restore func() error, err error) {
	undoANSI, err := enableANSI(out)
	if err != nil {
		return nil, err
	}
	var before *term.State
	if in != nil && Is(in) {
		if before, err = term.MakeRaw(int(in.Fd())); err != nil {
			return nil, err
		}
	}
	if _, err := out.WriteString(view.EnterScreen); err != nil {
		return nil, err
	}
	return func() error {
		_, err := out.WriteString(view.LeaveScreen)
		if before != nil {
			if restoreErr := term.Restore(int(in.Fd()), before); err == nil {
				err = restoreErr
			}
		}
		undoANSI()
		return err
	}, nil
}

const ctrlC, ctrlD = 3, 4

// ReadKeys sends the keys of a terminal until the program ends.
func ReadKeys(ctx context.Context, in *os.File, pressed chan<- rune, stop func()) {
	read := make([]byte, 64)
	for {
		n, err := in.Read(read)
		if err != nil {
			return
		}
		for _, key := range keysOf(string(read[:n])) {
			if key == ctrlC || key == ctrlD {
				stop()
				return
			}
			select {
			case pressed <- key:
			case <-ctx.Done():
				return
			}
		}
	}
}

// sequences are the bytes that terminals send for keys without a character (xterm and VT220).
var sequences = []struct {
	bytes string
	key   rune
}{
	{"\x1b[A", view.KeyUp},
	{"\x1bOA", view.KeyUp},
	{"\x1b[B", view.KeyDown},
	{"\x1bOB", view.KeyDown},
	{"\x1b[5~", view.KeyPageUp},
	{"\x1b[6~", view.KeyPageDown},
	{"\x1b[H", view.KeyHome},
	{"\x1b[1~", view.KeyHome},
	{"\x1b[F", view.KeyEnd},
	{"\x1b[4~", view.KeyEnd},
	{"\x1b", view.KeyEscape},
	{"\r", view.KeyEnter},
	{"\n", view.KeyEnter},
	{"\x7f", view.KeyBackspace},
	{"\b", view.KeyBackspace},
}

// keysOf returns the keys in the bytes that a terminal has sent. A terminal sends all bytes of a key
// together.
func keysOf(sent string) (keys []rune) {
next:
	for sent != "" {
		for _, s := range sequences {
			if rest, ok := strings.CutPrefix(sent, s.bytes); ok {
				keys, sent = append(keys, s.key), rest
				continue next
			}
		}
		r, size := utf8.DecodeRuneInString(sent)
		keys, sent = append(keys, r), sent[size:]
	}
	return keys
}
