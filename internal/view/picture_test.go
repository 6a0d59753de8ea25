package view

import (
	"fmt"
	"html"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/format"
)

// The README shows the status as a picture. The picture must equal the output of the present code. `task picture`
// draws it again.
func TestPictureShowsTheStatusOfToday(t *testing.T) {
	var text, picture strings.Builder
	st := statusOf(5)
	st.Version = "0.1.0" // the version in the picture
	st.Sessions[0] = summarised()
	if err := PrintStatus(&text, *st, Page{Width: 96, Color: true, Now: noon, Program: "magicctx-host"}); err != nil {
		t.Fatal(err)
	}
	if err := writePicture(&picture, text.String()); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("..", "..", "docs", "status.svg"), picture.String())
}

// The picture gives each character a fixed place, in pixels, so the widths of the viewer's font do not matter.
const (
	cellWidth, cellHeight = 8.4, 18
	pictureMargin         = 16
)

// The keys are the parameters of the SGR sequence.
var shades = map[string]string{
	"": "#c9d1d9", "1": "#ffffff", "2": "#7d8590", "32": "#7ee787", "33": "#e3b341", "31": "#ff7b72",
	"38;5;67": "#5f87af", "38;5;96": "#875f87", "38;5;109": "#87afaf", "38;5;108": "#87af87", "38;5;139": "#af87af", "38;5;179": "#d7af5f", "38;5;173": "#d7875f",
}

func writePicture(w io.Writer, text string) error {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	var body strings.Builder
	width := 0
	for row, line := range lines {
		column := 0
		for i, run := range strings.Split(line, "\x1b[") {
			code, content := "", run
			if i > 0 {
				code, content, _ = strings.Cut(run, "m")
			}
			if code == "0" {
				code = ""
			}
			shade, ok := shades[code]
			if !ok {
				return fmt.Errorf("shades has no colour for the SGR parameter %q", code)
			}
			drawRun(&body, row, column, shade, content)
			column += format.Columns(content)
		}
		width = max(width, column)
	}
	x, y := float64(width)*cellWidth+2*pictureMargin, len(lines)*cellHeight+2*pictureMargin
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" role="img" aria-label="The output of magicctx-host status">
<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" xml:space="preserve">
%s</g>
</svg>
`, x, y, x, y, body.String())
	return err
}

// Fonts leave gaps between blocks, so they become rectangles.
func drawRun(b *strings.Builder, row, column int, shade, content string) {
	top := pictureMargin + row*cellHeight
	var text strings.Builder
	start := column
	flush := func() {
		if s := strings.TrimRight(text.String(), " "); s != "" {
			n := format.Columns(s)
			fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%d\" fill=\"%s\" textLength=\"%.1f\">%s</text>\n",
				pictureMargin+float64(start)*cellWidth, top+13, shade, float64(n)*cellWidth, html.EscapeString(s))
		}
		text.Reset()
	}
	for content != "" {
		blocks := len(content) - len(strings.TrimLeft(content, "█"))
		if n := blocks / len("█"); n > 0 {
			flush()
			fmt.Fprintf(b, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n",
				pictureMargin+float64(column)*cellWidth, top+2, float64(n)*cellWidth, cellHeight-4, shade)
			content, column, start = content[blocks:], column+n, column+n
			continue
		}
		r := []rune(content)[0]
		if r == ' ' && strings.HasSuffix(text.String(), " ") {
			flush() // a viewer may show several spaces as one
		}
		if text.Len() == 0 && r == ' ' {
			start = column + 1
		} else {
			text.WriteRune(r)
		}
		content, column = content[len(string(r)):], column+format.RuneColumns(r)
	}
	flush()
}
