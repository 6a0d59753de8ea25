package mockllm

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/promptcache"
)

// A Binding decides how the server reacts if a thinking block comes back behind another prefix than the
// one behind which it was made. Claude 5.1 and later bind each thinking block to its prefix: the tools,
// the system prompt and all content before the block.
type Binding int

const (
	// BindingOff sends the signatures of the script and checks nothing.
	BindingOff Binding = iota
	// BindingRefuse answers 400, which is the API's default. It does so even if the request asks for
	// "drop_block", so that a test notices a fault that dropping the block would hide.
	BindingRefuse
	// BindingDrop answers the request, and lists the dropped blocks in input_transformations.
	BindingDrop
)

// A BlockState is the verdict on a thinking block that a client sent to a binding model.
type BlockState int

const (
	// BlockValid: everything before the block is unchanged.
	BlockValid BlockState = iota
	// BlockInvalid: something before the block has changed, or the server did not make it.
	BlockInvalid
	// BlockForeign: another model made the block. The API drops it silently.
	BlockForeign
)

// A BoundBlock is a thinking block in a request.
type BoundBlock struct {
	// Where is the place in the request in the API's notation, for example "messages.3.content.0".
	Where string
	// Made is the Seq of the request whose answer contained the block, 0 if the server did not make it.
	Made  int
	State BlockState
	// Why explains in a sentence why the block is invalid.
	Why string
}

// An Absence classifies a missing block: the block was valid in the conversation's last request, or
// came with the answer to it, and the next request does not contain it.
type Absence int

const (
	// Lost: everything before the block is unchanged, and the rest of its answer follows. The client
	// could have sent the block.
	Lost Absence = iota
	// Cut: something before the block has changed, so it would have been invalid.
	Cut
	// Gone: the request no longer contains the block's answer.
	Gone
)

// A MissingBlock is a block that a request should contain and does not.
type MissingBlock struct {
	Made int
	How  Absence
}

// A ThinkingCheck is the server's verdict on the thinking blocks of a request to a binding model.
type ThinkingCheck struct {
	Blocks  []BoundBlock
	Missing []MissingBlock
}

// Count returns the number of blocks in a state.
func (t ThinkingCheck) Count(state BlockState) (n int) {
	for _, b := range t.Blocks {
		if b.State == state {
			n++
		}
	}
	return n
}

// CountMissing returns the number of blocks with that kind of absence.
func (t ThinkingCheck) CountMissing(how Absence) (n int) {
	for _, b := range t.Missing {
		if b.How == how {
			n++
		}
	}
	return n
}

// ThinkingCount sums up the requests of one session to binding models.
type ThinkingCount struct {
	// Requests counts the checked requests, and Refused those among them that were refused.
	Requests, Refused int
	// Made counts the thinking blocks of all answers.
	Made int
	// Sent counts the thinking blocks of all requests. Each of them is valid, invalid or foreign.
	Sent, Valid, Invalid, Foreign int
	// Lost, Cut and Gone count missing blocks, each block once.
	Lost, Cut, Gone int
}

// binding is the server's memory of the thinking that it has made.
type binding struct {
	mode   Binding
	models map[string]bool
	made   map[string]*madeBlock // by signature, or by data if redacted
	newest map[conversation][]*madeBlock
	counts map[string]*ThinkingCount // by session
}

// A conversation is the unit in which a block can be missing. A session has one conversation with each
// model. Requests without tools, such as those for summaries, form separate ones.
type conversation struct {
	session, model string
	hasTools       bool
}

// A madeBlock is a thinking block that a server has made.
type madeBlock struct {
	signature string // a redacted block has its data here
	text      string
	model     string
	made      int
	prefix    prefix
	// answer identifies the rest of the answer: its texts and the ids of its calls.
	answer []string
}

// A prefix is the part of a request, from its start, to which thinking is bound.
type prefix struct {
	tools, system promptcache.Hash
	pieces        []piece
	// chain[i] is the hash of the tools, the system prompt and the first i pieces. spoken is the same
	// without thinking: spoken[j] covers the first j other pieces.
	chain, spoken []promptcache.Hash
	// says holds the content of each piece: the text, the thinking, or the id of a call.
	says []string
}

// A piece is a content block of the conversation. It holds the role of its message but not the
// message's index, because the API joins neighbouring messages of one role.
type piece struct {
	where string
	role  string
	hash  promptcache.Hash
	// signature is set for a thinking block.
	signature  string
	isThinking bool
}

func newPrefix(tools, system promptcache.Hash) prefix {
	start := []promptcache.Hash{promptcache.HashOf(slices.Concat(tools[:], system[:]))}
	return prefix{tools: tools, system: system, chain: start, spoken: start}
}

// add appends a piece with its content.
func (p *prefix) add(next piece, says string) {
	p.pieces = append(p.pieces, next)
	p.says = append(p.says, says)
	p.chain = append(p.chain, link(p.chain, next))
	if !next.isThinking {
		p.spoken = append(p.spoken, link(p.spoken, next))
	}
}

// soFar returns a copy of the prefix that later additions do not change. The copy has no texts, because
// they would keep every request in memory.
func (p *prefix) soFar() prefix {
	c := *p
	c.pieces, c.chain, c.spoken, c.says = slices.Clip(c.pieces), slices.Clip(c.chain), slices.Clip(c.spoken), nil
	return c
}

func link(chain []promptcache.Hash, next piece) promptcache.Hash {
	last := chain[len(chain)-1]
	return promptcache.HashOf(slices.Concat(last[:], []byte(next.role), next.hash[:]))
}

// end returns the hash of the whole prefix.
func (p *prefix) end() promptcache.Hash { return p.chain[len(p.chain)-1] }

// prefixOf reads the prefix of a request in the Anthropic dialect.
func prefixOf(r *Request) prefix {
	head := func(blocks []PromptBlock) promptcache.Hash {
		var all []byte
		for _, b := range blocks {
			h := promptcache.HashOf(canonical(b.JSON))
			all = append(all, h[:]...)
		}
		return promptcache.HashOf(all)
	}
	tools, rest := r.Blocks[:len(r.Tools)], r.Blocks[len(r.Tools):]
	system, rest := rest[:len(r.System)], rest[len(r.System):]
	p := newPrefix(head(tools), head(system))
	for i, m := range r.Messages {
		for j, c := range m.Content {
			next := piece{
				where: fmt.Sprintf("messages.%d.content.%d", i, j), role: m.Role, hash: promptcache.HashOf(canonical(rest[0].JSON)),
			}
			says := c.Text
			switch c.Type {
			case "thinking":
				next.isThinking, next.signature = true, c.Signature
			case "redacted_thinking":
				next.isThinking, next.signature, says = true, c.Text, ""
			case "tool_use":
				says = c.ID
			}
			p.add(next, says)
			rest = rest[1:]
		}
	}
	return p
}

// canonical returns a block as the API understands it. A bare string equals a text block, the order of
// members does not matter, and cache markers do not count as content.
func canonical(raw json.Value) []byte {
	if raw.Kind() == '"' {
		return encoded(object{"type": "text", "text": textOf(raw)})
	}
	var block object
	if json.Unmarshal(raw, &block) != nil {
		return raw
	}
	if list, ok := block["content"].([]any); ok { // the content of a tool result
		for _, item := range list {
			if o, ok := item.(map[string]any); ok {
				delete(o, "cache_control")
			}
		}
	}
	delete(block, "cache_control")
	return encoded(block)
}

func encoded(o object) []byte {
	raw, err := json.Marshal(o)
	if err != nil {
		panic("mockllm: a block that was decoded does not encode: " + err.Error())
	}
	return raw
}

// piece returns a block of an answer in the form in which a client sends it back, with its content.
func (b Block) piece() (next piece, says string) {
	o := object{"type": "text", "text": b.text}
	next, says = piece{role: "assistant"}, b.text
	switch b.kind {
	case kindThinking:
		o = object{"type": "thinking", "thinking": b.text, "signature": b.signature}
		next.isThinking, next.signature = true, b.signature
	case kindRedacted:
		o = object{"type": "redacted_thinking", "data": b.text}
		next.isThinking, next.signature, says = true, b.text, ""
	case kindTool:
		o = object{"type": "tool_use", "id": b.id, "name": b.name, "input": b.validInput()}
		says = b.id
	}
	next.hash = promptcache.HashOf(canonical(encoded(o)))
	return next, says
}

// Bind makes the given models bind their thinking: the server signs each block with a digest of
// everything before it, and checks the block when it comes back. Bind forgets blocks that were made
// earlier. For all other models, the server only remembers which thinking they made.
func (s *Server) Bind(mode Binding, models ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.binding = binding{
		mode: mode, models: map[string]bool{}, made: map[string]*madeBlock{},
		newest: map[conversation][]*madeBlock{}, counts: map[string]*ThinkingCount{},
	}
	for _, m := range models {
		s.binding.models[m] = true
	}
}

// Thinking returns the counts of a session.
func (s *Server) Thinking(session string) ThinkingCount {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.binding.counts[session]; c != nil {
		return *c
	}
	return ThinkingCount{}
}

func conversationOf(r *Request) conversation {
	return conversation{r.Session(), r.Model, len(r.Tools) > 0}
}

func (b *binding) count(r *Request) *ThinkingCount {
	session := r.Session()
	if b.counts[session] == nil {
		b.counts[session] = &ThinkingCount{}
	}
	return b.counts[session]
}

// isOn reports whether the server examines the thinking of a request.
func (b *binding) isOn(r *Request) bool { return b.mode != BindingOff && r.Dialect == Anthropic }

// check examines the thinking in a request. It returns the API's refusal, or nil.
func (b *binding) check(r *Request) *HTTPError {
	if !b.isOn(r) {
		return nil
	}
	r.prefix = prefixOf(r)
	if !b.models[r.Model] {
		return nil
	}
	for i, p := range r.prefix.pieces {
		if !p.isThinking {
			continue
		}
		r.Thinking.Blocks = append(r.Thinking.Blocks, b.judge(r.Model, &r.prefix, i))
	}
	r.Thinking.Missing = missing(b.newest[conversationOf(r)], &r.prefix)

	count := b.count(r)
	count.Requests++
	count.Sent += len(r.Thinking.Blocks)
	count.Valid += r.Thinking.Count(BlockValid)
	count.Invalid += r.Thinking.Count(BlockInvalid)
	count.Foreign += r.Thinking.Count(BlockForeign)
	count.Lost += r.Thinking.CountMissing(Lost)
	count.Cut += r.Thinking.CountMissing(Cut)
	count.Gone += r.Thinking.CountMissing(Gone)

	first := slices.IndexFunc(r.Thinking.Blocks, func(c BoundBlock) bool { return c.State == BlockInvalid })
	if first < 0 || b.mode != BindingRefuse {
		return nil
	}
	count.Refused++
	return r.Thinking.Blocks[first].refusal()
}

// refusal returns the API's error for an invalid block.
func (b BoundBlock) refusal() *HTTPError {
	message := b.Where + ": Invalid `signature` in `thinking` block."
	if b.Made > 0 {
		message += " The block is bound to a different conversation. Remove the block, or set " +
			"`thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\". That setting requires the " +
			"`thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
	}
	return &HTTPError{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: message + " " + b.Why}
}

// transformations lists the blocks that the API drops, in the form of its report.
func (t ThinkingCheck) transformations() []object {
	var list []object
	for _, b := range t.Blocks {
		reason := map[BlockState]string{BlockInvalid: "prefix_binding_mismatch", BlockForeign: "model_binding_mismatch"}[b.State]
		if reason != "" {
			list = append(list, object{"type": "thinking_dropped", "path": b.Where, "reason": reason})
		}
	}
	return list
}

// judge returns the API's verdict on piece i of a request to a model.
func (b *binding) judge(model string, now *prefix, i int) BoundBlock {
	out := BoundBlock{Where: now.pieces[i].where, State: BlockInvalid}
	block := b.made[now.pieces[i].signature]
	if block == nil {
		out.Why = "Nobody made this block."
		return out
	}
	out.Made = block.made
	switch {
	case block.model != model:
		out.State = BlockForeign
	case block.text != now.says[i]:
		out.Why = "The text of the block was changed."
	case block.prefix.end() == now.chain[i]:
		out.State = BlockValid
	default:
		out.Why = difference(&block.prefix, now, i)
	}
	return out
}

// difference describes the first change before piece n since the block was made.
func difference(was, now *prefix, n int) string {
	switch {
	case was.system != now.system:
		return "The `system` prompt differs from the one this block was created with."
	case was.tools != now.tools:
		return "The `tools` differ from those this block was created with."
	}
	for i, old := range was.pieces {
		if i < n && now.chain[i+1] == was.chain[i+1] {
			continue
		}
		switch {
		case old.isThinking:
			return "The `thinking` block that preceded this one when it was created is missing from this request."
		case i < n:
			return fmt.Sprintf("%s differs from %s in the request that this block was created with.", now.pieces[i].where, old.where)
		}
		return fmt.Sprintf("%s of the request that this block was created with is missing.", old.where)
	}
	return fmt.Sprintf("%s was not there when this block was created.", now.pieces[len(was.pieces)].where)
}

// missing returns the expected blocks that a request does not contain, in the order in which they were
// made.
func missing(expected []*madeBlock, now *prefix) (out []MissingBlock) {
	// A missing block that the client could have sent counts as present: with it, the blocks behind it
	// would be valid, too.
	couldBeThere := map[string]bool{}
	for _, p := range now.pieces {
		couldBeThere[p.signature] = true
	}
	for _, block := range expected {
		if couldBeThere[block.signature] {
			continue
		}
		n := len(block.prefix.spoken) - 1
		isCut := n >= len(now.spoken) || now.spoken[n] != block.prefix.spoken[n] ||
			slices.ContainsFunc(block.prefix.pieces, func(p piece) bool { return p.isThinking && !couldBeThere[p.signature] })
		how := Cut
		if !isCut {
			couldBeThere[block.signature] = true
			how = Gone
			if now.continues(n, block.answer) {
				how = Lost
			}
		}
		out = append(out, MissingBlock{Made: block.made, How: how})
	}
	return out
}

// continues reports whether the n-th piece that is not thinking, counted from 0, belongs to an answer.
// A text may have got a tag in front.
func (p *prefix) continues(n int, answer []string) bool {
	for i, next := range p.pieces {
		switch {
		case next.isThinking:
		case n > 0:
			n--
		default:
			return next.role == "assistant" &&
				slices.ContainsFunc(answer, func(said string) bool { return strings.Contains(p.says[i], strings.TrimSpace(said)) })
		}
	}
	return false
}

// sign signs the thinking in the answer to a request and remembers it.
func (b *binding) sign(r *Request, step Step) Step {
	if !b.isOn(r) || step.Error != nil || step.Hang {
		return step
	}
	binds := b.models[r.Model]
	if binds {
		step.Blocks = slices.Clone(step.Blocks)
	}
	at := &r.prefix
	var blocks []*madeBlock
	var answer []string
	for i := range step.Blocks {
		block := &step.Blocks[i]
		if block.kind == kindStreamError {
			break
		}
		isThinking := block.kind == kindThinking || block.kind == kindRedacted
		if isThinking && binds {
			digest := at.end()
			signature := fmt.Sprintf("bound.%d.%d.%s", r.Seq, i, hex.EncodeToString(digest[:]))
			if block.kind == kindThinking {
				block.signature = signature
			} else {
				block.text = signature
			}
		}
		next, says := block.piece()
		if isThinking {
			blocks = append(blocks, &madeBlock{signature: next.signature, text: says, model: r.Model, made: r.Seq, prefix: at.soFar()})
		} else if says != "" {
			answer = append(answer, says)
		}
		at.add(next, says)
	}
	for _, made := range blocks {
		made.answer = answer
		b.made[made.signature] = made
	}
	if binds {
		b.count(r).Made += len(blocks)
		b.expect(r, blocks)
	}
	r.prefix = prefix{} // no later code needs the prefix
	return step
}

// expect stores the blocks that the next request of the conversation should contain: the valid blocks
// of this request and the blocks of its answer.
func (b *binding) expect(r *Request, blocks []*madeBlock) {
	var held []*madeBlock
	judged := r.Thinking.Blocks
	for _, p := range r.prefix.pieces {
		if !p.isThinking || len(judged) == 0 {
			continue
		}
		if judged[0].State == BlockValid {
			held = append(held, b.made[p.signature])
		}
		judged = judged[1:]
	}
	b.newest[conversationOf(r)] = append(held, blocks...)
}
