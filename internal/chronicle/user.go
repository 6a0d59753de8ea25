package chronicle

// All projects see the memories of UserProject, which are about the user. These memories, and no others, have the
// category UserCategory.
const (
	UserProject  = "user"
	UserCategory = "USER_PREFERENCES"
)

// An Observation is a trait that the historian has noticed, for example "prefers short answers".
type Observation struct {
	Content string
	// Words quotes the user.
	Words  string
	Source Range
}
