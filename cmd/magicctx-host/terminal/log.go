package terminal

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/lmittmann/tint"

	"github.com/magicctx/magicctx-host/internal/format"
)

func NewLogger(w io.Writer, level slog.Level) *slog.Logger {
	if Is(w) {
		return slog.New(Handler(w, level))
	}
	return slog.New(slog.NewJSONHandler(printableJSON{w}, &slog.HandlerOptions{Level: level}))
}

// printableJSON removes control characters that slog does not escape, for example U+009B and U+202E. People read the
// log with tail, and the terminal would interpret the characters.
type printableJSON struct{ to io.Writer }

func (w printableJSON) Write(line []byte) (int, error) {
	if _, err := w.to.Write(format.CleanJSON(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// If tint writes colours, it does not escape control characters in texts. So Handler removes them first.
func Handler(w io.Writer, level slog.Level) slog.Handler {
	return tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: time.TimeOnly, ReplaceAttr: printableAttr})
}

func printableAttr(_ []string, a slog.Attr) slog.Attr {
	a.Key = format.Clean(a.Key)
	switch value := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(format.Clean(value))
	case error:
		a.Value = slog.StringValue(format.Clean(value.Error()))
	case time.Time, slog.Level, bool, int64, uint64, float64, time.Duration:
	default:
		a.Value = slog.StringValue(format.Clean(fmt.Sprintf("%+v", value)))
	}
	return a
}
