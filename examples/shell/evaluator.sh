#!/bin/sh
# Scores tidiness: the share of the agent's changes that were not refused.
#
#     parthack stress exec:'sh examples/shell/evaluator.sh'
#
# Built-in commands of a POSIX shell alone: no pipe, no $( ), no awk, since the sandbox lets an evaluator start no other
# program. Without a hello line, which is optional.

# Counts how often $1 stands in $line, into $count. The keys of a canonical payload are sorted and it has no white space,
# so that a piece of it can be looked for as text.
count_of() {
  count=0
  rest=$line
  while :; do
    case $rest in
      *"$1"*) rest=${rest#*"$1"} ;;
      *) return ;;
    esac
    count=$((count + 1))
  done
}

while IFS= read -r line || [ -n "$line" ]; do
  case $line in
    '' | '{"protocol":'*) continue ;;
    '{'*'"format":"parthack.payload/1"'*'}') ;;
    *)
      echo '{"no_verdict":"not a canonical payload"}'
      continue
      ;;
  esac
  line=${line##*',"transcript":['} # Nothing but the transcript, the last part.
  count_of '{"actor":"agent","event":'
  applied=$count
  count_of '{"actor":"agent","refusal":'
  all=$((applied + count))
  if [ "$all" -eq 0 ]; then
    echo '{"no_verdict":"the agent changed nothing"}'
    continue
  fi
  millionths=$((applied * 1000000 / all))
  printf '{"score":%d.%06d}\n' $((millionths / 1000000)) $((millionths % 1000000))
done
