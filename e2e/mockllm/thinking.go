package mockllm

// A BlockState is the verdict on a thinking block that a client sent to a binding model.
type BlockState int

const (
	// BlockValid: everything before the block is unchanged.
	BlockValid BlockState = iota
	// BlockInvalid: the server did not make the block, or the block or something before it has changed.
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
	// Cut: something before the block has changed, so the block would have been invalid.
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
