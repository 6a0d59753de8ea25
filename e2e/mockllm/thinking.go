package mockllm

type BlockState int

const (
	// BlockValid: everything before the block is unchanged.
	BlockValid BlockState = iota
	// BlockInvalid: the block or something before it has changed, or the block does not come from this server.
	BlockInvalid
	// BlockForeign: the block comes from another model. The API drops it without an error.
	BlockForeign
)

type BoundBlock struct {
	// Where is the place in the API's notation, for example "messages.3.content.0".
	Where string
	// Made is the Seq of the request whose answer contained the block. If the block is not from this server, it is 0.
	Made  int
	State BlockState
	Why   string
}

// A request should contain each thinking block that was valid in the request before it, or that came with the answer to
// that request. An Absence is the reason why such a block is missing.
type Absence int

const (
	// Lost: the client has lost the block without need. Nothing before the block has changed, and the request contains
	// the rest of the block's answer.
	Lost Absence = iota
	// Cut: something before the block has changed, so the client was right to leave out the block, which would be
	// invalid.
	Cut
	// Gone: the request no longer contains the block's answer.
	Gone
)

type MissingBlock struct {
	Made int
	How  Absence
}

type ThinkingCheck struct {
	Blocks  []BoundBlock
	Missing []MissingBlock
}

func (t ThinkingCheck) Count(state BlockState) (n int) {
	for _, b := range t.Blocks {
		if b.State == state {
			n++
		}
	}
	return n
}

func (t ThinkingCheck) CountMissing(how Absence) (n int) {
	for _, b := range t.Missing {
		if b.How == how {
			n++
		}
	}
	return n
}

// A ThinkingCount contains sums over all requests that one session has sent to binding models.
type ThinkingCount struct {
	Requests, Refused int
	Made              int
	// Sent counts the thinking blocks in all requests. Valid, Invalid and Foreign are its parts.
	Sent, Valid, Invalid, Foreign int
	// Lost, Cut and Gone count each missing block once.
	Lost, Cut, Gone int
}
