package compare

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/regular"
	"github.com/magicctx/magicctx-host/internal/view"
	"github.com/magicctx/magicctx-host/internal/view/page"
)

const (
	columns = 80
	doctype = "<!doctype html>"
	// Widths are in columns. maxRows bounds the number of listed sessions.
	barWidth = 50
	maxRows  = 200
	// Pi's ids of sessions are the longest.
	idWidth = 36
)

func Print(w io.Writer, r Result, isColored bool) error {
	var b strings.Builder
	paint := view.Painter(isColored)
	say := func(colour view.Colour, text string) {
		for _, line := range format.Folded(text, columns) {
			b.WriteString(paint.Paint(colour, line) + "\n")
		}
	}
	say(view.Strong, r.Sentence())
	if caveat := r.Caveat(); caveat != "" {
		say(view.Alarm, caveat)
	}
	b.WriteString("\n")
	most := max(r.Total.Alone, r.Total.Magicctx, 1e-9)
	for _, bar := range []struct {
		name   string
		money  float64
		colour view.Colour
	}{{"harness alone", r.Total.Alone, view.Notice}, {"magicctx", r.Total.Magicctx, view.Good}} {
		fmt.Fprintf(&b, "%-13s %9s  %s\n", bar.name, format.Money(bar.money), paint.Paint(bar.colour, strings.Repeat("█", int(barWidth*bar.money/most+0.5))))
	}
	if len(r.Rows) > 0 {
		fmt.Fprintf(&b, "\n%-36s %8s %6s %9s %9s\n", "SESSION", "REQUESTS", "BUSTS", "ALONE", "MAGICCTX")
		for _, row := range r.Rows[:min(len(r.Rows), maxRows)] {
			fmt.Fprintf(&b, "%-36s %8d %6d %9s %9s%s\n", format.Shorten(format.Clean(row.Session), idWidth), row.Requests, row.Busts, format.Money(row.Alone), format.Money(row.Magicctx), row.mark())
		}
		if more := len(r.Rows) - maxRows; more > 0 {
			fmt.Fprintf(&b, "and %d more\n", more)
		}
	}
	for _, d := range r.Damaged {
		b.WriteString(paint.Paint(view.Alarm, "left out: "+format.Clean(d.Trace)+": "+format.Clean(d.Error)) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// mark refers to the caveat.
func (t Row) mark() string {
	if t.IsIncomplete {
		return " *"
	}
	return ""
}

//go:embed page.html
var pageHTML string

type bar struct {
	Name            string
	Requests, Busts int
	Alone, Magicctx string
	Mark            string
	// AloneShare and Share are fractions of the largest bill.
	AloneShare, Share float64
}

func WritePage(tell io.Writer, r Result, path string) error {
	content, err := pageOf(r)
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return Save(tell, path, content, "open it in a browser")
}

// Save writes a page to the file `path`, which only its owner can read. It replaces an older page, but never a file of
// another kind.
func Save(tell io.Writer, path string, content []byte, next string) error {
	old, err := regular.Prefix(path, int64(len(doctype)))
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("write the page: %w", err)
	case len(old) > 0 && !strings.EqualFold(string(old), doctype):
		return fmt.Errorf("%s exists and is no page, so it is not replaced; name another file", format.Clean(path))
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil { // the older page may have had another mode
		return fmt.Errorf("write the page: %w", err)
	}
	_, err = fmt.Fprintf(tell, "Wrote %s; %s.\n", format.Clean(path), next)
	return err
}

func pageOf(r Result) ([]byte, error) {
	most, mostOfRow := max(r.Total.Alone, r.Total.Magicctx, 1e-9), 1e-9
	for _, row := range r.Rows {
		mostOfRow = max(mostOfRow, row.Alone, row.Magicctx)
	}
	barOf := func(row Row, name string, most float64) bar {
		return bar{name, row.Requests, row.Busts, format.Money(row.Alone), format.Money(row.Magicctx), row.mark(), row.Alone / most, row.Magicctx / most}
	}
	data := struct {
		Style            template.CSS
		Sentence, Caveat string
		Total            bar
		Rows             []bar
		More             int
		Damaged          []Damaged
	}{Style: template.CSS(page.Style), Sentence: r.Sentence(), Caveat: r.Caveat(), Total: barOf(r.Total, "all sessions", most), More: max(0, len(r.Rows)-maxRows)}
	for _, row := range r.Rows[:min(len(r.Rows), maxRows)] {
		data.Rows = append(data.Rows, barOf(row, format.Shorten(format.Clean(row.Session), 64), mostOfRow))
	}
	for _, d := range r.Damaged {
		data.Damaged = append(data.Damaged, Damaged{format.Clean(d.Trace), format.Clean(d.Error)})
	}
	var b bytes.Buffer
	t, err := template.New("compare").Funcs(template.FuncMap{"percent": func(part float64) string { return fmt.Sprintf("%.3f%%", 100*part) }}).Parse(pageHTML)
	if err != nil {
		return nil, err
	}
	err = t.Execute(&b, data)
	return b.Bytes(), err
}
