package view

import (
	"cmp"
	"path"
	"strings"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/words"
	"github.com/magicctx/magicctx-host/schema"
)

const labelColumns = 13

func (s *screen) card(st schema.SessionStatus) {
	s.picture(st)
	s.facts(st)
}

func (s *screen) picture(st schema.SessionStatus) {
	if s.height == 0 || s.height >= roomyHeight {
		s.line("")
	}
	s.line(" " + s.Paint(Strong, format.Cut(titleOf(st), s.width-2)))
	about := []string{words.Fullness(st)}
	if s.namesHarness {
		about = append(about, format.Clean(string(st.Harness)))
	}
	about = append(about, modelOf(st), projectOf(st), format.Clean(st.Session))
	s.line(" " + s.Paint(pressureColour(st), format.Cut(words.Fullness(st), s.width-2)) + s.Paint(Faint, cutRest(about, s.width-2)))
	if st.InputTokens == 0 && promptOf(st.Tokens) == 0 {
		return
	}
	if !s.isPlain {
		s.bar(st)
	}
	s.legend(st.Tokens)
}

// cutRest joins the texts after the first one, with a dot before each. The caller has already written the first
// text, so only its width counts. If a text is empty, or does not fit, cutRest leaves it out.
func cutRest(texts []string, width int) string {
	rest, used := "", format.Columns(texts[0])
	for _, text := range texts[1:] {
		if text == "" || text == "-" || used+3+format.Columns(text) > width {
			continue
		}
		rest, used = rest+" · "+text, used+3+format.Columns(text)
	}
	return rest
}

func (s *screen) facts(st schema.SessionStatus) {
	if s.height == 0 || s.height >= roomyHeight {
		s.line("")
	}
	for _, f := range words.Facts(st, s.now) {
		colour := Plain
		if f.IsFault {
			colour = Alarm
		}
		s.factIn(colour, f.Label, f.Text)
	}
}

func (s *screen) summary(st schema.SessionStatus) {
	s.picture(st)
	if faults := words.Faults(st, s.now); len(faults) > 0 {
		s.factIn(Alarm, "fault", format.Cut(faults[0], s.width-labelColumns-1))
	}
	s.fact("next bust", format.Cut(words.NextBust(st), s.width-labelColumns-1))
	s.fact("cache hits", format.Cut(words.CacheHits(st), s.width-labelColumns-1))
	s.fact("saved", format.Cut(words.Saved(st), s.width-labelColumns-1))
}

func (s *screen) fact(label, text string) { s.factIn(Plain, label, text) }

func (s *screen) factIn(c Colour, label, text string) {
	if s.width < roomyWidth {
		s.paragraph(c, " ", label+": "+text)
		return
	}
	for i, line := range format.Folded(text, s.width-labelColumns-1) {
		if i > 0 {
			label = ""
		}
		s.line(" " + s.Paint(Faint, format.Left(label, labelColumns-1)) + s.Paint(c, line))
	}
}

func titleOf(st schema.SessionStatus) string {
	title := strings.TrimSpace(format.Clean(st.Title))
	if title == "" {
		title = projectOf(st)
	}
	if title == "-" {
		title = format.Clean(st.Session)
	}
	if st.Parent != "" {
		return "↳ " + title
	}
	return title
}

func projectOf(st schema.SessionStatus) string {
	if st.Directory == "" {
		return "-"
	}
	return format.Clean(path.Base(strings.ReplaceAll(st.Directory, `\`, "/")))
}

func modelOf(st schema.SessionStatus) string {
	return format.Clean(cmp.Or(path.Base(cmp.Or(st.Model.ID, "-")), "-"))
}
