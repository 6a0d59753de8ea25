package chronicle

// UserProject is the project of the memories that are about the user. All projects see these memories. They all have
// the category UserCategory, and no other memory has it.
const (
	UserProject  = "user"
	UserCategory = "USER_PREFERENCES"
)

// An Observation is a trait of the user that a run of the historian has noticed, for example "prefers short answers".
type Observation struct {
	Content string
	// Words are the words of the user that show the trait.
	Words string
	// Source is the range of messages in which the user has shown the trait.
	Source Range
}
