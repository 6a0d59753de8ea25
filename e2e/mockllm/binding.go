package mockllm

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
)

// A Binding says what the server does with invalid bound thinking. From Claude 5.1 on, each thinking block is bound to
// its prefix: the tools, the system prompt and all content before it.
type Binding int

const (
	// BindingOff sends the signatures of the script and checks nothing.
	BindingOff Binding = iota
	// BindingRefuse answers an invalid block with 400, which is the API's default. It does so even if the request
	// contains "drop_block". If the server dropped the block, the test would not notice that the client had sent it.
	BindingRefuse
	// BindingDrop answers the request, and lists the dropped blocks in input_transformations.
	BindingDrop
)

type binding struct {
	mode   Binding
	models map[string]bool
	made   map[string]*madeBlock // by signature, or by data if the block is redacted
	newest map[conversation][]*madeBlock
	counts map[string]*ThinkingCount // by session
}

// A conversation consists of all requests of a session to one model. Requests without tools, for example requests for
// summaries, are a separate conversation. A block is missing if the next request of its conversation does not contain
// it.
type conversation struct {
	session, model string
	hasTools       bool
}

type madeBlock struct {
	signature string // the data, if the block is redacted
	text      string
	model     string
	made      int
	prefix    prefix
	answer    []string
}

// Bind makes the server sign each thinking block of these models with a digest of everything before it, and check the
// block in later requests. For other models, the server only remembers which thinking they wrote. Bind forgets all
// earlier blocks.
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

func (b *binding) isOn(r *Request) bool { return b.mode != BindingOff && r.Dialect == Anthropic }

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

func (b BoundBlock) refusal() *HTTPError {
	message := b.Where + ": Invalid `signature` in `thinking` block."
	if b.Made > 0 {
		message += " The block is bound to a different conversation. Remove the block, or set " +
			"`thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\". That setting requires the " +
			"`thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
	}
	return &HTTPError{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: message + " " + b.Why}
}

// transformations lists the dropped blocks in the form that the API uses.
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

func missing(expected []*madeBlock, now *prefix) (out []MissingBlock) {
	// A client may leave out a block that it could have sent. The blocks after it stay valid, so they must be judged as
	// if the block were present.
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

// expect stores the blocks that the next request should contain: the valid blocks of r, and the blocks of its answer.
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
