package views

import "strings"

// What people and programs put into names and texts.
var hostile = []string{
	`"><img src=x onerror=alert(1)>`,
	`</script><script>alert(1)</script>`,
	`'-alert(1)-'`,
	`javascript:alert(1)`,
	`{{constructor.constructor('alert(1)')()}}`,
	"\u202egnp.exe\u202c",
	"a\x00b\x1b[31mred",
	strings.Repeat("Ж", 255),
	strings.Repeat("no-space-", 1200),
	"line one\r\ndata: forged\n\nevent: patch",
}
