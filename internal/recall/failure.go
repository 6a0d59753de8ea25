package recall

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/magicctx/magicctx-host/internal/terms"
	"github.com/magicctx/magicctx-host/store/index"
)

// These parts of an error differ each time that the error occurs: places, addresses, durations, times and directories.
var (
	changing = []struct {
		what *regexp.Regexp
		with string
	}{
		{regexp.MustCompile(`\x1b\[[0-9;]*m`), ""},
		{regexp.MustCompile(`\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?([.,]\d+)?Z?)?\b|\b\d\d:\d\d:\d\d([.,]\d+)?\b`), " "},
		{regexp.MustCompile(`\b0x[0-9a-fA-F]+\b|\b[0-9a-f]{12,}\b`), " "},
		{regexp.MustCompile(`(?i)\(?\b\d+([.,]\d+)?\s?(ms|s|µs|ns|sec|seconds?|minutes?)\b\)?`), " "},
		{regexp.MustCompile(`(?i)(:\d+){1,2}\b(:)?(\s|$)|\(\d+,\s?\d+\)|\b(line|col|column|row|char|pid|goroutine|thread|attempt|job|step)[ =:#]?\d+`), " "},
		{regexp.MustCompile(`\[(\d+|[0-9]+/[0-9]+)\]`), " "},
	}
	directory = regexp.MustCompile(`(?:[A-Za-z]:)?(?:[\w.@~+-]*[/\\])+([\w.@+-]+)`)
	word      = regexp.MustCompile(`[A-Za-z0-9_]+(?:[.:-][A-Za-z0-9_]+)*`)
	// place matches the place at the start of a compiler's error, for example "store/file.go:12:5:".
	place = regexp.MustCompile(`^\S+\.\w+[:(]\d+([:,]\d+)?\)?:?\s+`)
)

// A signature is an error without the parts that differ each time.
type signature []string

// signatureOf returns the signature of a line, or nil if the line is so common that it would fit many different errors.
func signatureOf(line string) signature {
	line = place.ReplaceAllString(strings.TrimSpace(line), "")
	for _, c := range changing {
		line = c.what.ReplaceAllString(line, c.with+" ")
	}
	line = directory.ReplaceAllString(line, "$1")
	var s signature
	telling := 0
	for _, w := range word.FindAllString(line, -1) {
		if lower := strings.ToLower(w); !slices.Contains(frame, lower) {
			s = append(s, w)
			if weightOf(w) > 1 || !slices.Contains(dull, lower) {
				telling++
			}
		}
	}
	if telling < 2 && !s.isName() {
		return nil
	}
	return s
}

// isName reports whether the signature is a single name, for example the name of a failed test. The same test may fail
// for different reasons. So a remedy is shown for such an error only if the agent explained the failure.
func (s signature) isName() bool { return len(s) == 1 && len(s[0]) >= 12 && weightOf(s[0]) == 3 }

// signatureOf ignores the words in `frame`, which often surround an error. The words in `dull` stay in a signature. But
// most errors contain some of them, so they are not enough to identify an error.
var (
	frame = strings.Fields(`error err e fatal panic exception failed failure fail the a an in at of to is on with for npm warn by and or`)
	dull  = strings.Fields(`exit status code command exited process build test tests not found found cannot can't could no such file directory undefined unexpected invalid
		traceback most recent call last assertionerror typeerror syntaxerror valueerror keyerror make was did complete successfully module package compilation returned non-zero line main expected got
		received suites total passed failing 0 1 2 3 4 5 127 lifecycle elifecycle run script assertion compile errors timeout permission denied killed aborted unknown occurred see log details automatic merge fix conflicts then commit result enoent eacces econnrefused etimedout segmentation fault core dumped`)
)

// A name says more than a word of a language.
func weightOf(w string) float64 {
	letters, digits, inner := 0, 0, false
	isUpper := strings.ToUpper(w) == w
	for i, r := range w {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
			inner = inner || i > 0 && unicode.IsUpper(r) && !isUpper
		default:
			inner = true
		}
	}
	switch {
	case digits > 0 && letters > 0, inner && letters > 3:
		return 3
	case digits > 1:
		return 2
	}
	return 1
}

// isLike reports whether two signatures may come from the same error. All words of the shorter one must occur in the
// longer one, and must make up most of its weight.
func (s signature) isLike(other signature) bool {
	if len(s) > len(other) {
		s, other = other, s
	}
	both, all := 0.0, 0.0
	for _, w := range other {
		if all += weightOf(w); slices.Contains(s, w) {
			both += weightOf(w)
		}
	}
	for _, w := range s {
		if !slices.Contains(other, w) {
			return false
		}
	}
	return both >= alike*all
}

// `alike` is the least share of the longer signature's weight that both signatures must have in common.
const alike = 0.7

// hasName reports whether a signature contains a name, for example of a module.
func (s signature) hasName() bool {
	return slices.ContainsFunc(s, func(w string) bool { return weightOf(w) > 1 })
}

type failure struct {
	command string // see commandOf; "" if it is none
	errors  []signature
}

// isSame reports whether an earlier error is the same as this one. If both contain a name, the names must match. If
// not, the same command must have caused both.
func (f *failure) isSame(h *index.Hit) bool {
	isNamed, isLike := false, false
	for line := range strings.Lines(h.Text) {
		s := signatureOf(line)
		if s == nil {
			continue
		}
		isNamed = isNamed || s.hasName()
		for _, e := range f.errors {
			if e.isLike(s) {
				if s.hasName() {
					return true
				}
				isLike = true
			}
		}
	}
	return isLike && !(isNamed && slices.ContainsFunc(f.errors, signature.hasName)) && f.command != "" && commandOf(h.Context) == f.command
}

// After a remedy, an error did not occur again.
type remedy struct {
	hit *index.Hit
	// `sentence` is the agent's explanation, `command` is the command that the agent ran, and `file` is the file that
	// it changed.
	sentence, command, file string
}

// An action of the agent counts as a remedy only if the error goes away within maxSteps messages. Later, something else
// may have helped.
const maxSteps = 40

// remedyIn returns what the agent did to make an error go away. `after` contains the session's chunks after the error.
// If the failed command never ran again without the error, remedyIn returns nil.
func (f *failure) remedyIn(at *index.Hit, after []index.Hit) *remedy {
	about := strings.TrimSpace(at.Context)
	main := commandOf(about)
	end := -1
	for i := range after {
		h := &after[i]
		if h.First > at.Last+maxSteps {
			break
		}
		switch {
		case h.Kind == index.Error && f.isSame(h) && h.Last > at.Last:
			at, end = h, -1 // not yet
		case h.Kind == index.Command && h.Last > at.Last && end < 0 && (h.Text == about || main != "" && commandOf(h.Text) == main):
			isFailed := h.Status != nil && *h.Status != 0 || slices.ContainsFunc(after, func(e index.Hit) bool { return e.Kind == index.Error && e.Message == h.Message && e.Context == h.Text })
			if !isFailed {
				end = i
			} else if h.Status != nil { // the command failed with another error, which may hide the first error
				continue
			}
		}
	}
	if end < 0 {
		return nil
	}
	success := &after[end]
	r := &remedy{}
	var said, ran, written *index.Hit
	best := 0
	for i := range after {
		h := &after[i]
		if h.Last <= at.Last || h.First > success.Last+2 {
			continue
		}
		switch {
		case h.Kind == index.Command && h.Last < success.Last && (h.Status == nil || *h.Status == 0) && commandOf(h.Text) != "" && commandOf(h.Text) != main && !onlyLooks(h.Text):
			r.command, ran = h.Text, h
		case h.Kind == index.Write && h.Last <= success.Last:
			r.file, written = h.Subject, h
		case h.Kind == index.Text && h.Role == index.Agent:
			for s := range terms.Sentences(h.Text) {
				if n := explains(s); n > 0 && n >= best {
					best, r.sentence, said = n, s, h
				}
			}
		}
	}
	if r.hit = cmp.Or(said, ran, written); r.hit == nil {
		return nil
	}
	return r
}

var (
	causePattern = pattern(`because|the (cause|reason|culprit|problem|fix|issue) (was|is)|root cause|turn(s|ed) out|caused by|fixed by|was missing|is missing|were missing|had to|ha(s|ve) to|needs?|needed|must be|requires?|forgot|stale|wrong|outdated|mismatch|conflict(s|ed)?|instead of|after (running|setting|removing|adding|deleting|installing|clearing|starting|changing)|so i|i (set|export|pin|install|start|remove|delete|add|clear)(ed)?|only (passes|works|builds|runs)|(is|was|were|are) too|(set|setting|removed|removing|added|adding|deleted|deleting|cleared|clearing|installed|pinned|pinning|downgraded|upgraded|regenerated) `)
	lookPattern  = pattern(`log|diff|show|status|blame|branch|config --get|list|ps|describe|version|-v|help|whoami|env|why|outdated|info|inspect|logs|get`)
)

// The function `explains` rates how well a sentence of the agent says why an error went away. 0 means not at all.
func explains(s string) int {
	if strings.HasSuffix(s, "?") || !causePattern.MatchString(s) || len(s) < 20 {
		return 0
	}
	n := 1
	if findingPattern.MatchString(s) || explicitChoice.MatchString(s) || decisionPattern.MatchString(s) {
		n++
	}
	if strings.Contains(strings.ToLower(s), "because") || strings.Contains(s, "cause") || strings.Contains(s, "fix") {
		n++
	}
	if len(namesIn(s)) > 0 || strings.ContainsAny(s, "=`") {
		n += 2
	}
	return n
}

func onlyLooks(line string) bool {
	c := commandOf(line)
	_, sub, _ := strings.Cut(c, " ")
	return sub != "" && lookPattern.MatchString(sub) || slices.Contains(glance, path.Base(c))
}
