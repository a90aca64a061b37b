package search

import "strconv"

// number reports whether a text is a number as JSON writes it and as the
// database can keep.
func number(s string) bool {
	digits := func() (n int) {
		for s != "" && s[0] >= '0' && s[0] <= '9' {
			s, n = s[1:], n+1
		}
		return n
	}
	if s != "" && s[0] == '-' {
		s = s[1:]
	}
	zero := s != "" && s[0] == '0'
	if n := digits(); n == 0 || zero && n > 1 {
		return false
	}
	if s != "" && s[0] == '.' {
		s = s[1:]
		if digits() == 0 {
			return false
		}
	}
	if s != "" && s[0]|0x20 == 'e' {
		exponent, err := strconv.Atoi(s[1:])
		return err == nil && exponent >= -1000 && exponent <= 1000
	}
	return s == ""
}
