package historian

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

const (
	// maxPromises limits how many sentences of a chunk the question shows as possible promises. maxOpen limits how many
	// earlier promises it shows. If there are more, the question shows the newest.
	maxPromises = 16
	maxOpen     = 40
	// A sentence with more bytes is pasted text.
	maxPromise = 300
)

//go:embed prompts/promises.v2.md
var promiseRules string

// A saying is a sentence that may be a promise. One of the messages in Range contains the sentence.
type saying struct {
	words string
	by    chronicle.Speaker
	chronicle.Range
}

// promises returns the sentences of a chunk that may be promises, oldest first. The question shows them with numbers,
// the model answers with the numbers of the real promises, and confirmItems looks for these in the raw messages. The
// text of the chunk is enough to find the sentences. So if the model fails, the raw messages are never loaded.
func (j *Job) promises() (found []saying) {
	if j.WithoutFacts {
		return nil
	}
	for line := range strings.Lines(j.Chunk.Text) {
		m := blockLine().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		start, _ := strconv.Atoi(m[1])
		end, err := strconv.Atoi(m[2])
		if err != nil {
			end = start
		}
		for part := range strings.SplitSeq(m[4], " / ") {
			for _, s := range sentences(part) {
				if len(s) <= maxPromise && !strings.HasPrefix(part, "TC:") && isPromise(s) {
					found = append(found, saying{s, speakers[m[3]], chronicle.Range{Start: start, End: end}})
				}
			}
		}
	}
	return found[max(0, len(found)-maxPromises):]
}

var (
	speakers  = map[string]chronicle.Speaker{"U": chronicle.ByUser, "A": chronicle.ByAgent}
	blockLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\[(\d{1,9})(?:-(\d{1,9}))?\] ([UA]): (?:commits: [0-9a-f, ]+ )?(.*)`)
	})
)

// The method `in` looks for the saying in raw messages. The saying is a promise only if the user typed its words, or if
// the agent wrote them outside a quotation.
func (s saying) in(messages []Message) (p chronicle.Promise, ok bool) {
	role := User
	if s.by == chronicle.ByAgent {
		role = Assistant
	}
	for _, m := range within(messages, s.Range) {
		if m.Role != role {
			continue
		}
		var own []string
		for _, text := range m.Texts {
			own = append(own, unquoted(text))
		}
		q := quotes{typed: []haystack{{text: quotable(strings.Join(own, " "))}}}
		if q.stands(s.words) {
			return chronicle.Promise{Words: s.words, By: s.by, Message: m.Ordinal}, true
		}
	}
	return p, false
}

// isPromise may also return true for a sentence that is not a promise. This does little harm: the historian sees the
// sentence and does not choose it.
func isPromise(sentence string) bool {
	return !strings.HasSuffix(sentence, "?") && promiseWords().MatchString(sentence)
}

var promiseWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^\pL])(?:TODO|FIXME)(?:[^\pL]|$)|(?i)(?:^|[^\pL])(?:` + strings.Join([]string{
		// English
		`must(?:n['’]?t)?`, `never`, `later`, `afterwards`, `don['’]?t forget`, `remember to`, `follow[- ]?up`, `still (?:has|have|need|needs) to`, `not (?:done )?yet`, `remains to be`,
		`before (?:the |we |you |i )?(?:next )?(?:release|releas(?:e|ing)|merg(?:e|ing)|ship(?:ping)?|deploy(?:ing|ment)?)`,
		// German
		`muss`, `müssen`, `nie(?:mals)?`, `später`, `danach noch`, `noch nicht`, `vergiss nicht`, `vor (?:dem|der) (?:release|veröffentlichung|merge)`,
		// French, Spanish and Portuguese
		`jamais`, `plus tard`, `il faut`, `n['’]oublie pas`, `nunca`, `jamás`, `más tarde`, `hay que`, `no olvides`, `mais tarde`, `não esqueça`,
	}, "|") + `)(?:[^\pL]|$)|必须|以后再|絶対|あとで|後で`)
})

func (j *Job) open() []chronicle.Note {
	if j.WithoutFacts {
		return nil
	}
	return j.Open[max(0, len(j.Open)-maxOpen):]
}

// If there is nothing to ask, promiseSection returns "".
func promiseSection(made []saying, open []chronicle.Note) string {
	if len(made)+len(open) == 0 {
		return ""
	}
	var lines []string
	for _, n := range open {
		lines = append(lines, fmt.Sprintf("open %d. %s: %s", n.ID, speakerMark(n.SaidBy), oneLine(n.Content)))
	}
	for i, p := range made {
		lines = append(lines, fmt.Sprintf("%d. [%v] %s: %s", i+1, p.Range, speakerMark(p.by), p.words))
	}
	return paragraphs([]string{strings.TrimSpace(promiseRules), data("open_items", strings.Join(lines, "\n"))})
}

func speakerMark(by chronicle.Speaker) string {
	if by == chronicle.ByUser {
		return "U"
	}
	return "A"
}

var (
	madeItem   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{1,3})\.?$`) })
	closedItem = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^open (\d{1,18})\.? (done|withdrawn) \[(\d+)(?:-\d+)?\]$`)
	})
)

// parseItems reads the lines of the answer that are about promises. For example, "* 3" means that sentence 3 of the
// question is a promise, and "* open 12 done [45]" means that message 45 shows promise 12 to be done.
func (d *Draft) parseItems(text string) {
	for _, line := range bullets(text) {
		line = strings.ToLower(line)
		if m := madeItem().FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1]) // it has three digits at most
			d.Items = append(d.Items, n)
		}
		if m := closedItem().FindStringSubmatch(line); m != nil {
			id, _ := strconv.ParseInt(m[1], 10, 64) // it has 18 digits at most
			if at, ok := ordinal(m[3]); ok {
				d.Closed = append(d.Closed, chronicle.Closing{ID: id, IsDone: m[2] == "done", Message: at})
			}
		}
	}
}

// confirmItems keeps only the parts of the answer that the raw messages confirm. A sentence that the model has chosen
// as a promise must be in a raw message. A promise that the model has closed must be one of those in the question, and
// the model must name a message of the chunk in which the user or the agent says something. Only a message of the user
// can withdraw a promise of the user.
func (c *candidate) confirmItems(j *Job) {
	raw := j.Raw()
	for i, s := range j.promises() {
		if slices.Contains(c.draft.Items, i+1) {
			if p, ok := s.in(raw); ok {
				c.promises = append(c.promises, p)
			}
		}
	}
	open := j.open()
	for _, closing := range c.draft.Closed {
		shown := slices.IndexFunc(open, func(n chronicle.Note) bool { return n.ID == closing.ID })
		if shown < 0 || !j.Chunk.Range.Holds(closing.Message) {
			continue
		}
		isOfUser := !closing.IsDone && open[shown].SaidBy == chronicle.ByUser
		says := func(m Message) bool {
			return m.Ordinal == closing.Message && len(m.Texts) > 0 && (m.Role == User || !isOfUser)
		}
		if slices.ContainsFunc(raw, says) {
			c.closed = append(c.closed, closing)
		}
	}
}
