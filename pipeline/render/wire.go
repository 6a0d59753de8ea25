package render

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// BlockKind is what a block is to a provider.
type BlockKind string

// The kinds of blocks.
const (
	TextBlock      BlockKind = "text"
	ReasoningBlock BlockKind = "reasoning"
	CallBlock      BlockKind = "call"
	ResultBlock    BlockKind = "result"
	FileBlock      BlockKind = "file"
	OtherBlock     BlockKind = "other"
)

// A Block is one piece of content as the provider gets it.
type Block struct {
	Kind BlockKind
	// Text is the text, the reasoning, or the result.
	Text string
	// ID and Name belong to calls and results, Input to calls.
	ID, Name string
	Input    json.Value
	// Signature is that of a reasoning block; Raw is the rest that reaches
	// the provider: attachments, a file's address, an unknown part.
	Signature json.Value
	Raw       string
	IsError   bool
}

// A WireMessage is what one raw message contributes to the wire. A message
// without blocks is not there for the provider.
type WireMessage struct {
	Key    string
	Role   transcript.Role
	Blocks []Block

	hash Hash // the memo of Hash; a copy of the message has it as well
}

// Wire reads the blocks of a patched message.
func Wire(m *transcript.Message) WireMessage {
	w := WireMessage{Key: m.Key, Role: m.Role}
	if m.Hidden {
		return w
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Hidden {
			continue
		}
		switch p.Kind {
		case transcript.Text:
			w.Blocks = append(w.Blocks, Block{Kind: TextBlock, Text: p.Text})
		case transcript.Reasoning:
			w.Blocks = append(w.Blocks, Block{Kind: ReasoningBlock, Text: p.Text, Signature: p.Signature})
		case transcript.Tool:
			w.Blocks = append(w.Blocks,
				Block{Kind: CallBlock, ID: p.CallID, Name: p.Name, Input: p.Input},
				Block{Kind: ResultBlock, ID: p.CallID, Text: p.Text, Raw: string(p.Attachments), IsError: p.IsError || p.TextPath == ""})
		case transcript.File:
			w.Blocks = append(w.Blocks, Block{Kind: FileBlock, Name: p.Mime, Raw: p.URL})
		case transcript.Other:
			w.Blocks = append(w.Blocks, Block{Kind: OtherBlock, Raw: string(p.Raw)})
		}
	}
	return w
}

// A Hash identifies wire bytes. The zero hash is that of nothing.
type Hash [16]byte

// Hash returns the identity of the message's wire bytes, which do not change any
// more once it was asked for; the zero hash when the provider does not see the
// message.
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

// Bytes returns the size of the content that the provider gets.
func (w *WireMessage) Bytes() int {
	n := 0
	for i := range w.Blocks {
		b := &w.Blocks[i]
		n += len(b.Text) + len(b.Name) + len(b.Input) + len(b.Signature) + len(b.Raw)
	}
	return n
}

// Next returns the hash of a chain with one more message.
func (c Hash) Next(message Hash) Hash {
	var both [32]byte
	copy(both[:16], c[:])
	copy(both[16:], message[:])
	sum := sha256.Sum256(both[:])
	return Hash(sum[:16])
}

// write adds strings to h, each after its length, so that no two lists of
// strings feed the same bytes.
func write(h hash.Hash, fields ...string) {
	var n [8]byte
	for _, f := range fields {
		binary.LittleEndian.PutUint64(n[:], uint64(len(f)))
		h.Write(n[:])
		h.Write([]byte(f))
	}
}
