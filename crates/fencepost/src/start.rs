//! What is said to somebody who gives no command: where to start.

/// Shown without arguments.
pub(crate) const START: &str = "\
fencepost: what it costs to keep persistent memory crash-consistent on a given
piece of hardware, and whether it really is.

Start here:
  fencepost run cq -d delegated --check       one program on one design: time,
                                              where it went, and a verdict
  fencepost compare cq sps -d so,delegated    what two designs cost
  fencepost crash cq --contract px86 --variant missing-fence
                                              a mistake, and the crash state
                                              that shows it
  fencepost reproduce dpo                     a paper's figures beside ours

  fencepost list designs      (also programs, machines, media, contracts)
  fencepost help              all commands; `fencepost help run` explains one
";
