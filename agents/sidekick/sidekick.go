package sidekick

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/internal/tokens"
)

const Agent = "magicctx-sidekick"

type Job struct {
	// Words are the user's words to the sidekick.
	Words string
	// Wishes are the user's additions to the rules, or "".
	Wishes string
	// Models are the models to try, as "provider/model". If the list is empty, the harness chooses.
	Models  []string
	Timeout time.Duration // of all questions together
	// Search runs one search for each query, and returns the best results without repetitions.
	Search func(ctx context.Context, queries []string) ([]Hit, error)
	// Progress is called before each question, with the number of results and the usage so far.
	Progress func(results int, used ask.Usage)
}

// A Hit is a result of a search. About describes its source, for example "user, message 12 of this session".
type Hit struct{ About, Text string }

// A Finding is what the model found in one hit. It has passed the checks in rules.go.
type Finding struct {
	Hit  int // its index in the hits of the job's search
	Text string
}

type Result struct {
	// Findings is empty if nothing helps.
	Findings []Finding
	// Rejected names, for each finding that was rejected, the rule that it broke.
	Rejected []string
	Model    string
	Usage    ask.Usage
}

const (
	maxQueries  = 3
	maxFindings = 5
	// These limits are in bytes: maxWords for the user's words, maxHit for one result, and maxHits for all
	// results in a question.
	maxWords = 4_000
	maxHit   = 2_000
	maxHits  = 20_000
	// MaxOutput is the sum of these two numbers of tokens: `thinking` is for the model's thinking, and
	// `longest` is for the answer itself.
	thinking = 2_000
	longest  = 1_000
)

//go:embed prompts/search.md
var searchPrompt string

//go:embed prompts/findings.md
var findingsPrompt string

// Run asks one model after the other, until one gives answers of the right form.
func Run(ctx context.Context, a ask.Asker, j Job) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, j.Timeout)
	defer cancel()
	models := ask.Models(j.Models...)
	if len(models) == 0 {
		models = []string{""}
	}
	var failed error
	r := Result{}
	for _, model := range models {
		r.Model = model
		err := r.ask(ctx, a, j)
		if err == nil {
			return r, nil
		}
		failed = errors.Join(failed, err)
		if ask.Classify(err).Final() {
			break
		}
	}
	return r, failed
}

func (r *Result) ask(ctx context.Context, a ask.Asker, j Job) error {
	answer, err := r.question(ctx, a, j, searchPrompt, nil)
	if err != nil {
		return err
	}
	queries, err := queriesOf(answer)
	if err != nil {
		return err
	}
	hits, err := j.Search(ctx, queries)
	if err != nil {
		return err
	}
	shown, size := hits, 0
	for i, h := range hits {
		if size += min(len(h.Text), maxHit); size > maxHits {
			shown = hits[:i]
			break
		}
	}
	if len(shown) == 0 {
		return nil
	}
	if answer, err = r.question(ctx, a, j, findingsPrompt, shown); err != nil {
		return err
	}
	return r.read(answer, j.Words, shown)
}

// question asks one question, and returns the answer without the model's thinking. The first question, which asks for
// searches, has no hits.
func (r *Result) question(ctx context.Context, a ask.Asker, j Job, system string, hits []Hit) (string, error) {
	if j.Progress != nil {
		j.Progress(len(hits), r.Usage)
	}
	if system = strings.TrimSpace(system); j.Wishes != "" {
		system += "\n\nThe user has added this. The rules above count more:\n\n" + j.Wishes
	}
	answer, err := ask.Once(ctx, a, ask.Request{
		Agent: Agent, Model: r.Model, System: system, Prompt: promptOf(j.Words, hits), MaxOutput: thinking + longest, Timeout: j.Timeout,
	})
	if err != nil {
		return "", err
	}
	r.Model, r.Usage = answer.Model, r.Usage.Plus(answer.Usage)
	if tokens.Count(answer.Text) > 2*(thinking+longest) {
		return "", errors.New("the answer is far too long")
	}
	return withoutThinking(answer.Text), nil
}

// promptOf writes the question. The words and the hits are data, so they are escaped. Otherwise, a text that contains a
// closing tag could end its element early.
func promptOf(words string, hits []Hit) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<words>%s</words>\n", html.EscapeString(cut(words, maxWords)))
	for i, h := range hits {
		fmt.Fprintf(&b, "<result number=\"%d\" from=\"%s\">%s</result>\n", i+1, html.EscapeString(h.About), html.EscapeString(cut(h.Text, maxHit)))
	}
	return strings.TrimSpace(b.String())
}

// cut returns the first n bytes of a text. If these end in the middle of a character, cut leaves this character out.
func cut(text string, n int) string { return strings.ToValidUTF8(text[:min(len(text), n)], "") }
