package replay

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
)

// PageOptions control how a browser shows a summary.
type PageOptions struct {
	// Trace is the name of the trace, for the title.
	Trace string
}

var (
	//go:embed page/page.html
	pageHTML string
	//go:embed page/page.css
	pageStyle string
	//go:embed page/page.js
	pageScript string

	pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
		"count":   count,
		"plural":  plural,
		"ms":      func(ms float64) string { return fmt.Sprintf("%.2f", ms) },
		"percent": func(part float64) string { return fmt.Sprintf("%.3f%%", 100*part) },
	}).Parse(pageHTML))
)

// pagePolicy allows the page to run its own script and nothing else, and to load nothing. So text from
// a trace cannot do harm.
var pagePolicy = func() string {
	sum := sha256.Sum256([]byte(pageScript))
	return "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; script-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"
}()

// WritePage writes a summary as one HTML page without external files. The size of a session's drawing
// is bounded; the values that appear under the pointer take some 70 bytes per pass.
func WritePage(w io.Writer, s Summary, o PageOptions) error {
	view := newPageView(s, o)
	view.Policy = pagePolicy
	view.Style, view.Script = template.CSS(pageStyle), template.JS(pageScript)
	if err := pageTemplate.Execute(w, view); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}
