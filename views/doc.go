// Package views is everything a person sees: templ components and the pure
// functions that lay them out. It reads the store's words and types, asks no
// database, makes no request and calls nothing that can fail, so that a page
// is either rendered whole or not at all.
//
// One struct per page is named after it and is all the page takes. A page's
// live parts are components with stable ids of their own; the same components
// make the page and the patches that a stream sends to it.
//
// The markup works without script and obeys a content security policy that
// forbids inline script and inline style. Every address is built in urls.go.
package views
