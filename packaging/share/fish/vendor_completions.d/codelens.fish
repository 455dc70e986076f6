function __codelens_offers
    set -l line (commandline -opc) (commandline -ct)
    set -l found (env _CODELENS_COMPLETE=fish $line[1] $line[2..-1] 2>/dev/null)
    if count $found >/dev/null
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete --command codelens --no-files --arguments '(__codelens_offers)'
