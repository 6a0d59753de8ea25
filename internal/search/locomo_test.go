package search_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/search"
	"github.com/magicctx/magicctx-host/store/index"
)

var locomo = flag.String("locomo", "", "the path of data/locomo10.json of github.com/snap-research/locomo")

// TestLoCoMo measures a public set of conversations and questions. For each question, it searches the turns of
// the conversation, and compares the hits with the turns that the set names as evidence.
func TestLoCoMo(t *testing.T) {
	if *locomo == "" {
		t.Skip("run it with -args -locomo FILE")
	}
	raw, err := os.ReadFile(*locomo)
	must(t, err)
	var samples []struct {
		Conversation map[string]json.Value `json:"conversation"`
		QA           []struct {
			Question string   `json:"question"`
			Evidence []string `json:"evidence"`
			Category int      `json:"category"`
		} `json:"qa"`
	}
	must(t, json.Unmarshal(raw, &samples))
	x, err := index.Open(t.Context(), t.TempDir())
	must(t, err)
	defer x.Close()
	id := regexp.MustCompile(`D\d+:\d+`)
	names := map[int]string{1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop", 5: "adversarial"}
	// sum contains five sums for each category: all questions, recall@5, recall@10, the questions whose first hit is
	// evidence, and the questions whose first hit is in a session with evidence. Index 0 is for all categories except
	// the adversarial one.
	var sum [6][5]float64
	for i, sample := range samples {
		project := fmt.Sprint("git:", i)
		places := map[string]string{}
		for n := 1; ; n++ {
			var turns []struct {
				Speaker string `json:"speaker"`
				ID      string `json:"dia_id"`
				Text    string `json:"text"`
				Caption string `json:"blip_caption"`
			}
			if json.Unmarshal(sample.Conversation[fmt.Sprint("session_", n)], &turns) != nil {
				break
			}
			s := index.Session{Harness: "pi", ID: fmt.Sprint(i, "_", n), Project: project}
			must(t, x.Update(t.Context(), func(tx *index.Tx) error {
				state, err := tx.Session(s)
				before := ""
				for k, turn := range turns {
					places[fmt.Sprint(s.ID, k+1)] = turn.ID
					text := turn.Speaker + ": " + turn.Text + " " + turn.Caption
					c := index.Chunk{Kind: index.Text, Role: index.User, Text: text, Context: before}
					before = text[max(0, len(text)-300):]
					err = errors.Join(err, tx.Put(state.Row, project, index.Message{Key: turn.ID, Ordinal: k + 1, At: 1, Chunks: []index.Chunk{c}}))
				}
				return err
			}))
		}
		for _, q := range sample.QA {
			evidence := map[string]bool{}
			for _, text := range q.Evidence {
				for _, turn := range id.FindAllString(text, -1) {
					evidence[turn] = true
				}
			}
			if len(evidence) == 0 {
				continue
			}
			inSession := map[string]bool{}
			for turn := range evidence {
				session, _, _ := strings.Cut(turn, ":")
				inSession[session] = true
			}
			hits, err := search.Search(t.Context(), x, search.Query{Text: q.Question, Limit: 10, Project: project})
			must(t, err)
			one := [5]float64{1}
			for rank, h := range hits {
				if session, _, _ := strings.Cut(places[fmt.Sprint(h.Session.ID, h.Last)], ":"); rank == 0 && inSession[session] {
					one[4] = 1
				}
				if evidence[places[fmt.Sprint(h.Session.ID, h.Last)]] {
					share := 1 / float64(len(evidence))
					one[2] += share
					if rank < 5 {
						one[1] += share
					}
					if rank == 0 {
						one[3] = 1
					}
				}
			}
			for k, v := range one {
				sum[q.Category][k] += v
				if q.Category != 5 {
					sum[0][k] += v
				}
			}
		}
	}
	names[0] = "all but adversarial"
	for category, s := range sum {
		t.Logf("%-20s %5.0f questions  recall@5 %.3f  recall@10 %.3f  hit@1 %.3f  session@1 %.3f", names[category], s[0], s[1]/s[0], s[2]/s[0], s[3]/s[0], s[4]/s[0])
	}
}
