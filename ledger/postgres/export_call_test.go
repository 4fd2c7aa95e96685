package postgres

// What the columns call and body hold; see encodeCall.
var (
	EncodeCall = encodeCall
	DecodeCall = decodeCall
)
