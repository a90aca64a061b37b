package wire

import "github.com/fenceline/fenceline/store"

// Token is a token; its powers are what holds, within what its person may do
// now.
type Token struct {
	ID     string `json:"id"`
	Person string `json:"person"` // the account's id
	ActsAs string `json:"acts_as"`
	Powers
	CreatedAt *string `json:"created_at"`
	ExpiresAt *string `json:"expires_at"`
	UsedAt    *string `json:"used_at"` // to a minute; null when it never was
}

// TokenOf shows a token.
func TokenOf(t store.Token) Token {
	return Token{ID: Decimal(t.ID), Person: Decimal(t.Person.ID), ActsAs: t.Actor(), Powers: powersOf(t.Holds()),
		CreatedAt: InstantOrNull(t.CreatedAt), ExpiresAt: InstantOrNull(t.ExpiresAt), UsedAt: InstantOrNull(t.UsedAt)}
}

// TokensOf shows tokens, in their order; none are an empty list.
func TokensOf(all []store.Token) []Token {
	out := make([]Token, len(all))
	for i, t := range all {
		out[i] = TokenOf(t)
	}
	return out
}
