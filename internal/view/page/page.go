package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"sync"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/replay"
)

type Options struct {
	Trace string
}

var (
	//go:embed page.html
	pageHTML string
	// Style is the style sheet of the page. The dashboard uses it, too.
	//
	//go:embed page.css
	Style string
	//go:embed page.js
	pageScript string

	// The template is parsed at its first use, because most processes of the program never use it.
	pageTemplate = sync.OnceValue(func() *template.Template {
		return template.Must(template.New("page").Funcs(template.FuncMap{
			"count":   format.Tokens[int],
			"plural":  format.Count,
			"ms":      func(ms float64) string { return fmt.Sprintf("%.2f", ms) },
			"percent": func(part float64) string { return fmt.Sprintf("%.3f%%", 100*part) },
		}).Parse(pageHTML))
	})
)

// pagePolicy allows the page to run only its own script, and to load nothing. So text from a trace can do no harm, even
// if it contains a script.
var pagePolicy = func() string {
	sum := sha256.Sum256([]byte(pageScript))
	return "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; script-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"
}()

// Write writes a summary as one HTML page without external files. Even for a long session, the chart on the page has a
// bounded size. Only the numbers that appear next to the mouse pointer grow with the session, by about 70 bytes per
// pass.
func Write(w io.Writer, s replay.Summary, o Options) error {
	view := newPageView(s, o)
	view.Policy = pagePolicy
	view.Style, view.Script = template.CSS(Style), template.JS(pageScript)
	if err := pageTemplate().Execute(w, view); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}
