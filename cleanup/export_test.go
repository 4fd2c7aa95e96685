package cleanup

var IsOverdue = isOverdue
