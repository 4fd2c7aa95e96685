package notify

var Decide = decide
