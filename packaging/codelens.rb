# The release workflow writes the hash of the source distribution into this file.
class Codelens < Formula
  desc "Offline code search that explains every result"
  homepage "https://pypi.org/project/codelens/"
  url "https://files.pythonhosted.org/packages/source/c/codelens/codelens-0.1.0.tar.gz"
  sha256 "SHA256_OF_THE_SOURCE_DISTRIBUTION"
  license "MIT"

  depends_on "python@3.13"

  def install
    # pip takes wheels of the dependencies. As resources of this formula, two dozen grammars would have to be compiled.
    system "python3.13", "-m", "venv", libexec
    system libexec/"bin/pip", "install", buildpath
    bin.install_symlink libexec/"bin/codelens"
    man1.install libexec/"share/man/man1/codelens.1"
    bash_completion.install libexec/"share/bash-completion/completions/codelens"
    zsh_completion.install libexec/"share/zsh/site-functions/_codelens"
    fish_completion.install libexec/"share/fish/vendor_completions.d/codelens.fish"
  end

  test do
    (testpath/"greet.py").write "def greet(name):\n    return f'hello {name}'\n"
    system bin/"codelens", "index", "--quiet", "."
    assert_match "greet.py:1:", shell_output("#{bin}/codelens search greet")
  end
end
