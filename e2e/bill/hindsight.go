package main

import (
	"cmp"
	"math"
	"regexp"
	"strconv"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/schema"
)

// A looker looks back at the main conversation. It records the requests, and after the session it computes how much
// money the run would have saved if the same content had been removed at the best possible times.
//
// The computation assumes that a block can be removed as soon as the model has asked to drop it, or the historian has
// summarised its turn. A block that the run removed for another reason cannot be removed earlier than in the run.
type looker struct {
	// With implicit caching (OpenAI), a change invalidates only the content after it. With breakpoints (Anthropic), a
	// change invalidates the whole conversation, because the breakpoints are at its end.
	isImplicit bool
	session    []promptcache.Passage
	busts      []int
	// `start` is the size of the system prompt and the tools in tokens. `size` is the size that the prompt would have
	// if nothing had been removed.
	start, size int
	units       []*unit // in the order of the prompt
	known       map[string]*unit
	tags        map[string]int
	// `asked` contains the tags that the model has asked to drop. `told` contains the turns that the historian has
	// summarised.
	asked, told []span
	summaries   []summary
}

// A summary has a size in tokens. `at` is the index of the first request that can contain the summary.
type summary struct{ at, tokens int }

type block struct {
	// `key` identifies a block of the conversation, and stays the same after most of the block was removed. Blocks
	// outside the conversation have no key.
	key    string
	tag    int    // 0 if the block shows no tag
	call   string // the id of the tool call in the block, or of the call whose result the block is
	turn   int
	isUser bool
	tokens int
}

// A unit is a block that can be removed. `left` is the number of its tokens that the newest request still contains.
type unit struct {
	block
	place, left int
}

// A span holds the tags or turns with the numbers `first` to `last`. They can be removed in the request with the index
// `at`, or in any later request.
type span struct{ at, first, last int }

// The method `see` records a request. isGone means that the cache contained nothing of the request. isBust means that
// the request does not extend the previous one.
func (l *looker) see(blocks []block, p schema.Price, isGone, isBust bool) {
	at := len(l.session)
	now := promptcache.Passage{IsGone: isGone, Price: p}
	if isBust {
		l.busts = append(l.busts, at)
	}
	if at == 0 {
		l.known, l.tags = make(map[string]*unit), make(map[string]int)
		for _, b := range blocks {
			if b.key == "" {
				l.start += b.tokens
			}
		}
		now.Grown, l.size = l.start, l.start
	}
	sizes := make(map[string]int, len(blocks))
	for _, b := range blocks {
		if b.key == "" {
			continue
		}
		sizes[b.key] += b.tokens
		if b.call != "" && b.tag > 0 {
			l.tags[b.call] = b.tag
		}
		if l.known[b.key] == nil {
			u := &unit{block: b, place: l.size, left: b.tokens}
			l.known[b.key], l.units = u, append(l.units, u)
			now.Grown, l.size = now.Grown+b.tokens, l.size+b.tokens
		}
	}
	l.session = append(l.session, now)
	for _, u := range l.units {
		if left := sizes[u.key]; left < u.left {
			l.remove(min(at, l.readyAt(u)), u.place, u.left-left)
			u.left = left
		}
	}
}

// readyAt returns the first request at which the unit may be removed. If there is none, it returns math.MaxInt.
func (l *looker) readyAt(u *unit) int {
	first := firstWith(l.told, u.turn)
	if !u.isUser { // words of the user are not dropped
		first = min(first, firstWith(l.asked, cmp.Or(u.tag, l.tags[u.call])))
	}
	return first
}

func firstWith(spans []span, n int) int {
	for _, s := range spans {
		if s.first <= n && n <= s.last {
			return s.at
		}
	}
	return math.MaxInt
}

func (l *looker) remove(at, place, tokens int) {
	p := promptcache.Piece{Place: place, Tokens: tokens, From: l.start}
	if l.isImplicit {
		p.From = place
	}
	l.session[at].Ready = append(l.session[at].Ready, p)
}

// The method `ask` records that the model, in its answer to the newest request, asks to drop a range of tags.
func (l *looker) ask(first, last int) { l.asked = append(l.asked, span{len(l.session), first, last}) }

// The messages of a turn are one prompt, one answer for each call, and a last answer.
const messagesOfTurn = 1 + done

var (
	covering  = regexp.MustCompile(`<compartment start="(\d+)" end="(\d+)"`)
	firstTier = regexp.MustCompile(`(?s)<p1>(.*?)</p1>`)
)

func (l *looker) summarise(a answer) {
	at := len(l.session)
	for _, m := range covering.FindAllStringSubmatch(a.text, -1) {
		first, _ := strconv.Atoi(m[1]) // this cannot fail, because the pattern matches only digits
		last, _ := strconv.Atoi(m[2])
		l.told = append(l.told, span{at, (first-1)/messagesOfTurn + 1, last / messagesOfTurn})
	}
	size := 0
	for _, m := range firstTier.FindAllStringSubmatch(a.text, -1) {
		size += tokens.Count(m[1])
	}
	l.summaries = append(l.summaries, summary{at, size})
}

// excess returns the best times for busts, and the money that they would have saved. Every prompt must fit into limit
// tokens. The run itself may have met this limit by means that the looker does not know. So if the looker finds no
// times that meet it, the money is 0.
func (l *looker) excess(limit int) (money float64, best []int) {
	for _, u := range l.units {
		if at := l.readyAt(u); u.left == u.tokens && at < len(l.session) {
			l.remove(at, u.place, u.left)
		}
	}
	for _, s := range l.summaries {
		if s.at < len(l.session) {
			l.remove(s.at, l.start, -s.tokens)
		}
	}
	h := promptcache.LookBack(l.session, limit)
	best, least := h.Best()
	return max(0, h.Busts(l.busts)-least), best
}

// inTurn finds the number of a turn at the start of a text, for example 12 in "§3§ Turn 12, step 4". The texts of the
// user contain no step.
var inTurn = regexp.MustCompile(`^(?:§\d+§ ?)*Turn (\d+)(, step \d+| is done)?`)

var (
	tagged  = regexp.MustCompile(`^(?:§(\d+)§|\[dropped §(\d+)§\])`)
	ofCalls = regexp.MustCompile(`^toolu_turn(\d+)_`)
)

// In OpenAI's dialect, a block is a whole message.
func blockOf(raw json.Value) (b block) {
	var c struct {
		Text     string     `json:"text"`
		ID       string     `json:"id"`
		ResultOf string     `json:"tool_use_id"`
		Message  string     `json:"tool_call_id"`
		Role     string     `json:"role"`
		Content  json.Value `json:"content"`
	}
	if json.Unmarshal(raw, &c) != nil {
		return b
	}
	text := c.Text
	if c.Content != nil {
		text = firstText(c.Content)
	}
	return blockNamed(text, c.ID, c.ResultOf+c.Message)
}

// blockNamed finds out from a block's text and ids which part of the story the block is. `call` is the id of the tool
// call in the block. If the block is a result, `resultOf` is the id of the call that it answers.
func blockNamed(text, call, resultOf string) (b block) {
	if found := tagged.FindStringSubmatch(text); found != nil {
		b.tag, _ = strconv.Atoi(found[1] + found[2])
	}
	id := call + resultOf
	place := inTurn.FindStringSubmatch(text)
	switch {
	case id != "":
		b.call = id
		b.key = "call " + call + " result " + resultOf
		if found := ofCalls.FindStringSubmatch(id); found != nil {
			b.turn, _ = strconv.Atoi(found[1])
		}
	case place != nil:
		b.turn, _ = strconv.Atoi(place[1])
		b.isUser = place[2] == ""
		b.key = "turn " + place[1] + place[2]
	case b.tag > 0:
	default:
		return block{}
	}
	if b.key == "" || b.tag > 0 && id == "" {
		b.key = "tag " + strconv.Itoa(b.tag)
	}
	return b
}

func firstText(content json.Value) (text string) {
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var list []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &list) == nil && len(list) > 0 {
		return list[0].Text
	}
	return ""
}
