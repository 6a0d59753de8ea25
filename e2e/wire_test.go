package e2e

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
)

const guidanceHeading = "## Magic Context"

func (w *world) play(session string, steps ...mockllm.Step) {
	w.mock.AddRule(mockllm.Rule{
		Name:   session,
		Match:  func(r *mockllm.Request) bool { return r.Session() == session },
		Answer: mockllm.InOrder(steps...),
	})
}

// Other rules answer the requests for titles and summaries.
func (w *world) requests(session string) []*mockllm.Request {
	return slices.DeleteFunc(w.mock.Requests(), func(r *mockllm.Request) bool { return r.Rule != session })
}

func checkRequest(t *testing.T, r *mockllm.Request) {
	t.Helper()
	checkValid(t, r)
	checkGuidance(t, r)
	checkBreakpoints(t, r)
}

// The model must get the explanation of tags exactly once.
func checkGuidance(t *testing.T, r *mockllm.Request) {
	t.Helper()
	if n := strings.Count(strings.Join(r.System, "\n"), guidanceHeading); n != 1 {
		t.Errorf("request %d: %d times %q in the system prompt", r.Seq, n, guidanceHeading)
	}
}

const maxBreakpoints = 4

// checkBreakpoints fails if the last block of the prompt has no breakpoint.
func checkBreakpoints(t *testing.T, r *mockllm.Request) {
	t.Helper()
	if r.Dialect != mockllm.Anthropic {
		return // OpenAI caches without breakpoints
	}
	if marks := r.Breakpoints(); len(marks) > maxBreakpoints {
		t.Errorf("request %d has %d breakpoints: %v", r.Seq, len(marks), marks)
	}
	if last := r.Blocks[len(r.Blocks)-1]; !last.Breakpoint {
		t.Errorf("request %d: no breakpoint on its last block, %s", r.Seq, last.Where)
	}
}

// The function `extends` reports whether b begins with all blocks of a. It ignores breakpoints. If b does not begin
// with them, `where` is the place of the first block that differs.
func extends(a, b *mockllm.Request) (where string, ok bool) {
	for i, block := range a.Blocks {
		if i == len(b.Blocks) {
			return block.Where + " is missing", false
		}
		if block.Where != b.Blocks[i].Where || !bytes.Equal(block.JSON, b.Blocks[i].JSON) {
			return fmt.Sprintf("%s: %.300s\nbecame %s: %.300s", block.Where, block.JSON, b.Blocks[i].Where, b.Blocks[i].JSON), false
		}
	}
	return "", true
}

type unit struct {
	// id is the id of a call, or a text without its tag.
	id        string
	tag       int
	isDropped bool
}

var (
	tagPattern     = regexp.MustCompile(`^§(\d+)§ `)
	droppedPattern = regexp.MustCompile(`^\[dropped §(\d+)§\]$`)
)

func units(r *mockllm.Request) (all []unit) {
	for _, m := range r.Messages {
		for _, c := range m.Content {
			if c.Type != "text" && c.Type != "tool_result" {
				continue
			}
			var u unit
			if match := droppedPattern.FindStringSubmatch(c.Text); match != nil {
				u.tag, _ = strconv.Atoi(match[1])
				u.isDropped = true
			} else if match := tagPattern.FindStringSubmatch(c.Text); match != nil {
				u.tag, _ = strconv.Atoi(match[1])
				u.id = strings.TrimPrefix(c.Text, match[0])
			} else {
				continue
			}
			if c.Type == "tool_result" {
				u.id = c.ID
			}
			all = append(all, u)
		}
	}
	return all
}

func tagsShown(r *mockllm.Request) map[int]bool {
	shown := map[int]bool{}
	for _, u := range units(r) {
		if !u.isDropped {
			shown[u.tag] = true
		}
	}
	return shown
}

func checkTags(t *testing.T, requests []*mockllm.Request) {
	t.Helper()
	tags, ids := map[string]int{}, map[int]string{}
	for _, r := range requests {
		for _, u := range units(r) {
			if u.id == "" {
				continue // the placeholder of a text
			}
			if tag, seen := tags[u.id]; seen && tag != u.tag {
				t.Errorf("request %d: unit %.60q is §%d§, and was §%d§", r.Seq, u.id, u.tag, tag)
			}
			if id, seen := ids[u.tag]; seen && id != u.id {
				t.Errorf("request %d: §%d§ is %.60q, and was %.60q", r.Seq, u.tag, u.id, id)
			}
			tags[u.id], ids[u.tag] = u.tag, u.id
		}
	}
	if len(tags) == 0 {
		t.Error("no request holds a tag")
	}
}

func checkBodies(t *testing.T, want, got []*mockllm.Request) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("%d requests, want %d", len(got), len(want))
	}
	for i := range min(len(want), len(got)) {
		a, b := want[i].Body, got[i].Body
		if bytes.Equal(a, b) {
			continue
		}
		at := 0
		for at < min(len(a), len(b)) && a[at] == b[at] {
			at++
		}
		t.Errorf("request %d differs at byte %d:\n got ...%.300s\nwant ...%.300s", i, at, b[max(0, at-100):], a[max(0, at-100):])
		return // all later requests differ as well
	}
}
