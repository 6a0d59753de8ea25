package render

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

type BlockKind string

const (
	TextBlock      BlockKind = "text"
	ReasoningBlock BlockKind = "reasoning"
	CallBlock      BlockKind = "call"
	ResultBlock    BlockKind = "result"
	FileBlock      BlockKind = "file"
	OtherBlock     BlockKind = "other"
)

type Block struct {
	Kind BlockKind
	// Text is the text, the reasoning, or the result of a tool.
	Text string
	// ID is the id of a call. The call's result has the same ID. Name is the tool or the file's MIME type. Input holds
	// the arguments.
	ID, Name string
	Input    json.Value
	// Raw is other content that reaches the provider, for example an attachment or the address of a file.
	Signature json.Value
	Raw       string
	IsError   bool
	// OpensStep marks the first block of an answer. The harness sends each
	// answer of a message as a separate assistant message.
	OpensStep bool
}

// A WireMessage is one raw message as the provider gets it. If it has no blocks, the provider does not see the message.
type WireMessage struct {
	Key    string
	Role   transcript.Role
	Blocks []Block

	hash Hash // the remembered result of Hash; copies of the message keep it
}

func WireMessageOf(m *transcript.Message) WireMessage {
	w := WireMessage{Key: m.Key, Role: m.Role}
	if m.Hidden {
		return w
	}
	opens := true
	for i := range m.Parts {
		p := &m.Parts[i]
		opens = opens || p.StartsStep
		if p.Hidden {
			continue
		}
		first := len(w.Blocks)
		switch p.Kind {
		case transcript.Text:
			w.Blocks = append(w.Blocks, Block{Kind: TextBlock, Text: p.Text})
		case transcript.Reasoning:
			w.Blocks = append(w.Blocks, Block{Kind: ReasoningBlock, Text: p.Text, Signature: p.Signature})
		case transcript.Tool:
			w.Blocks = append(w.Blocks,
				Block{Kind: CallBlock, ID: p.CallID, Name: p.Name, Input: p.Input},
				Block{Kind: ResultBlock, ID: p.CallID, Text: p.Text, Raw: string(p.Attachments), IsError: p.IsError || !p.HasResult()})
		case transcript.File:
			w.Blocks = append(w.Blocks, Block{Kind: FileBlock, Name: p.Mime, Raw: p.URL})
		case transcript.Other:
			w.Blocks = append(w.Blocks, Block{Kind: OtherBlock, Raw: string(p.Raw)})
		}
		w.Blocks[first].OpensStep, opens = opens, false
	}
	return w
}

// FusesWithNext reports whether a provider that joins consecutive answers would join w with the next assistant message.
// The results of calls come after the whole answer. So if the last answer of w contains a call, the result separates w
// from the next message.
func (w *WireMessage) FusesWithNext() bool {
	if w.Role != transcript.Assistant || len(w.Blocks) == 0 {
		return false
	}
	for i := len(w.Blocks) - 1; i >= 0; i-- {
		if w.Blocks[i].Kind == ResultBlock {
			return false
		}
		if w.Blocks[i].OpensStep {
			break
		}
	}
	return true
}

type Hash [16]byte

// Hash returns the hash of the wire bytes, or zero if the provider does not see the message. It caches the hash, so the
// message must not change later.
func (w *WireMessage) Hash() Hash {
	if w.hash == (Hash{}) && len(w.Blocks) > 0 {
		w.hash = w.sum()
	}
	return w.hash
}

func (w *WireMessage) sum() Hash {
	h := sha256.New()
	write(h, string(w.Role))
	for i := range w.Blocks {
		b := &w.Blocks[i]
		write(h, string(b.Kind), b.Text, b.ID, b.Name, string(b.Input), string(b.Signature), b.Raw)
		if b.IsError {
			write(h, "error")
		}
	}
	return Hash(h.Sum(nil)[:16])
}

func (w *WireMessage) Bytes() int {
	n := 0
	for i := range w.Blocks {
		b := &w.Blocks[i]
		n += len(b.Text) + len(b.Name) + len(b.Input) + len(b.Signature) + len(b.Raw)
	}
	return n
}

func (c Hash) Next(message Hash) Hash {
	var both [32]byte
	copy(both[:16], c[:])
	copy(both[16:], message[:])
	sum := sha256.Sum256(both[:])
	return Hash(sum[:16])
}

// write hashes the length of each string before the string, so that "ab", "c" and "a", "bc" give different hashes.
func write(h hash.Hash, fields ...string) {
	var n [8]byte
	for _, f := range fields {
		binary.LittleEndian.PutUint64(n[:], uint64(len(f)))
		h.Write(n[:])
		h.Write([]byte(f))
	}
}
