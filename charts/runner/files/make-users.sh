# Writes Redis's ACL file: the rules, with `#@user@` made the hashes of the passwords in the Secret. Called by the init container.
# Both `user-password` and, while a password is being changed, `user-password-previous` are let in.
set -eu
rules=$1 logins=$2 out=$3
hash() { printf '#%s' "$(sha256sum <"$1" | cut -d' ' -f1)"; }
while read -r line; do
    user=$(printf '%s\n' "$line" | sed -n 's/.*#@\([a-z]*\)@.*/\1/p')
    if [ -n "$user" ]; then
        test -s "$logins/$user-password" || { echo "the Secret has no $user-password" >&2; exit 1; }
        hashes=$(hash "$logins/$user-password")
        test ! -s "$logins/$user-password-previous" || hashes="$hashes $(hash "$logins/$user-password-previous")"
        line=$(printf '%s\n' "$line" | sed "s/#@$user@/$hashes/")
    fi
    printf '%s\n' "$line"
done <"$rules" >"$out"
