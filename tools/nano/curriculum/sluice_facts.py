"""Questions about Sluice and Kimi K3, as the project's documentation answers them."""

from __future__ import annotations

from .core import Kind, blocks

# An answer, then questions that lead to it.
FACTS = """
= Sluice is a program that runs Kimi K3 on one ordinary computer and reads its experts from SSDs.
What is Sluice? / What does Sluice do? / What kind of program is Sluice? / What is Sluice for?
= Kimi K3 is a language model with 2.8 trillion parameters.
What is Kimi K3? / How many parameters does Kimi K3 have? / How big is Kimi K3? / How large is
Kimi K3?
= Kimi K3 has 93 layers.
How many layers does Kimi K3 have? / How many layers are in Kimi K3? / What is the number of
layers of Kimi K3?
= Kimi K3 has 896 experts in a layer.
How many experts does Kimi K3 have? / How many experts are in a layer of Kimi K3? / How many
experts has each layer?
= Each token uses 16 experts in a layer.
How many experts does a token use? / How many experts are used for each token? / How many experts
work on one token?
= 92 layers of Kimi K3 have experts, and layer 0 is dense.
How many layers have experts? / Which layer of Kimi K3 is dense? / Do all layers have experts?
= 69 layers of Kimi K3 use Kimi Delta Attention.
How many layers use KDA? / How many layers of Kimi K3 use Kimi Delta Attention? / How many KDA
layers are there?
= 24 layers of Kimi K3 use multi-head latent attention.
How many layers use MLA? / How many layers of Kimi K3 use latent attention? / How many MLA layers
are there?
= KDA is Kimi Delta Attention, which updates a state of fixed size.
What is KDA? / What does KDA mean? / What is Kimi Delta Attention?
= MLA is multi-head latent attention, which appends to the cache of the sequence.
What is MLA? / What does MLA mean? / What is multi-head latent attention?
= The weights of Kimi K3 take 1.56 TB.
How big are the weights of Kimi K3? / How much space does Kimi K3 need on the drive? / How many
bytes do the weights take?
= The weights stay on SSDs in the released files.
Where are the weights of Kimi K3? / Where does Sluice keep the weights? / Where do the weights
stay?
= One expert takes 17.5 MB.
How big is one expert? / How many bytes does an expert take? / What is the size of an expert?
= The experts of one token are 25.8 GB.
How many bytes of experts does a token use? / How much does Sluice read for one token? / How big
are the experts of one token?
= The experts are stored in MXFP4.
In which format are the experts stored? / Which number format do the experts have? / What is the
format of the experts?
= MXFP4 is a number format with 4 bits for a weight and a scale for 32 weights.
What is MXFP4? / What does MXFP4 mean? / How does MXFP4 work?
= BF16 is a number format with 16 bits: the upper half of a float.
What is BF16? / What does BF16 mean? / How many bits does BF16 have?
= Sluice is written in C++20.
In which language is Sluice written? / What language is Sluice written in? / Which programming
language does Sluice use?
= Sluice has the MIT licence.
What licence does Sluice have? / What is the licence of Sluice? / What license does Sluice have? /
Is Sluice free software?
= Yes. Sluice uses all 16 experts and the released weights as they are.
Does Sluice run Kimi K3 exactly? / Does Sluice change the model? / Does Sluice use all experts? /
Is it the real Kimi K3?
= It means that the same input gives the same bits, for every thread count and memory budget.
What does one answer mean? / What is the promise of one answer? / What does Sluice promise about
its results?
= No. Threads change only the speed and never the answer.
Does the number of threads change the answer? / Do more threads change the result? / Is the answer
different with more threads?
= No. The memory budget changes only the speed and never the answer.
Does the memory budget change the answer? / Does less memory change the result? / Is the answer
worse with less memory?
= The option --memory sets the memory budget, for example --memory 64GiB.
How do I set the memory? / Which option sets the memory? / How do I limit the memory? / How much
memory does Sluice use?
= By default Sluice uses the memory that the machine or its container has free.
What is the default of --memory? / How much memory does Sluice use by default? / What happens
without --memory?
= The option --threads sets the number of threads.
How do I set the number of threads? / Which option sets the threads? / How do I use fewer threads?
= By default Sluice uses every processor that it may use.
What is the default of --threads? / How many threads does Sluice use by default? / What happens
without --threads?
= Use sluice run MODEL --chat --prompt and your question.
How do I run Sluice? / How do I ask the model one question? / How do I run a prompt? / How can I
run Kimi K3?
= Use sluice chat MODEL to hold a conversation.
How do I chat? / How do I start a chat? / Which command starts a conversation? / How do I talk to
Kimi K3?
= The command run continues a prompt, or answers it with --chat.
What does sluice run do? / What does the command run do? / What is the command run for?
= The command chat holds a conversation, a line at a time.
What does sluice chat do? / What does the command chat do? / What is the command chat for?
= The command inspect shows what a model is and what of it fits here.
What does sluice inspect do? / What does inspect do? / What does the command inspect do? / How do
I see what fits into memory?
= The command synth writes a checkpoint with random weights in the released layout.
What does sluice synth do? / What does synth do? / What does the command synth do? / How do I make
a test model?
= The command completion prints a completion script for a shell.
What does sluice completion do? / What does the command completion do? / How do I get completion
in bash?
= The command help prints the help of all commands.
What does sluice help do? / What does the command help do? / How do I see all commands?
= Sluice has the commands run, chat, inspect, synth, completion and help.
Which commands does Sluice have? / What are the commands of Sluice? / What commands are there?
= Type make demo. It builds Sluice and lets a tiny K3 write some words.
How do I try Sluice? / How do I start the demo? / What does make demo do? / How do I build Sluice?
= Type make test. It installs what is missing, builds, and runs every test.
How do I run the tests? / How do I test Sluice? / What does make test do?
= The option --max-new sets how many tokens the answer may have.
How do I make the answer longer? / Which option limits the answer? / How do I set the length of
the answer?
= The answer has at most 512 tokens by default.
How long is an answer by default? / What is the default of --max-new? / How many tokens has an
answer at most?
= The option --temperature sets how freely tokens are drawn. With 0 the most probable one is taken.
How do I set the temperature? / Which option sets the temperature? / What does --temperature do?
= The default temperature is 0, so the most probable token is always taken.
What is the default temperature? / Is the answer random by default? / What happens without
sampling options?
= The option --top-k draws from the K most probable tokens.
What does --top-k do? / How do I draw from the best tokens only? / What is top-k?
= The option --top-p draws from the fewest tokens that hold this probability.
What does --top-p do? / What is top-p? / What does the option top-p mean?
= The option --seed sets the random seed. The same seed draws the same tokens.
What does --seed do? / How do I set the seed? / How do I repeat a random answer?
= The option --stats prints the memory table and speeds.
What does --stats do? / How do I see the speed? / Which option prints statistics?
= The option --system gives a system message.
What does --system do? / How do I give a system message? / Which option sets the system message?
= The option --effort sets how much to think before the answer: low, high, max or none.
What does --effort do? / How do I make it think less? / How do I set the effort? / Which efforts
are there?
= The option --context sets the number of tokens of prompt and answer together.
What does --context do? / How do I set the context? / Which option sets the context length?
= The option --stop ends the answer before a text.
What does --stop do? / How do I end the answer at a text? / Which option stops the answer?
= The option --json prints one JSON object at the end.
What does --json do? / How do I get JSON output? / Which option prints JSON?
= The option --quiet shows no progress.
What does --quiet do? / How do I hide the progress? / Which option hides the progress?
= The option --prompt-file reads the prompt from a file.
What does --prompt-file do? / How do I read the prompt from a file? / Can the prompt be in a file?
= The option --save-state writes the state after prompt and answer to a file.
What does --save-state do? / How do I save the state? / How do I save a conversation?
= The option --load-state continues from a saved state.
What does --load-state do? / How do I load a state? / How do I continue a conversation?
= The option --backend chooses cpu or the slow reference.
What does --backend do? / Which backends are there? / How do I choose the backend?
= The option --target chooses the instruction set: scalar, avx2, avx512 or neon.
What does --target do? / Which targets are there? / How do I choose the instruction set?
= Press Ctrl-C. It ends the answer and prints what there is.
How do I stop an answer? / What does Ctrl-C do? / How do I end the answer early?
= Exit code 0 means success.
What does exit code 0 mean? / What is exit code 0? / Which exit code means success?
= Exit code 1 means an unexpected failure. Please report it.
What does exit code 1 mean? / What is exit code 1? / Which exit code means an unexpected failure?
= Exit code 2 means an option, prompt or argument that cannot be right.
What does exit code 2 mean? / What is exit code 2? / Which exit code means a wrong option?
= Exit code 3 means that a file, folder or tensor does not exist.
What does exit code 3 mean? / What is exit code 3? / Which exit code means a missing file?
= Exit code 4 means that a file is damaged or contradicts another.
What does exit code 4 mean? / What is exit code 4? / Which exit code means a damaged file?
= Exit code 5 means that the system could not read or write.
What does exit code 5 mean? / What is exit code 5? / Which exit code means that reading failed?
= Exit code 6 means that it does not fit the memory budget.
What does exit code 6 mean? / What is exit code 6? / Which exit code means too little memory?
= Exit code 7 means a valid file or option that this build does not implement.
What does exit code 7 mean? / What is exit code 7? / Which exit code means not implemented?
= Exit code 130 means that Ctrl-C stopped the program.
What does exit code 130 mean? / What is exit code 130? / Which exit code means stopped by Ctrl-C?
= An expert is one part of a layer: three matrices that only some tokens use.
What is an expert? / What is a routed expert? / What does expert mean in Sluice?
= The spine is all weights that are not routed experts.
What is the spine? / What does spine mean in Sluice? / Which weights belong to the spine?
= A checkpoint is the released folder: config.json, index and shards.
What is a checkpoint? / What does checkpoint mean in Sluice? / What is in a checkpoint?
= A shard is one safetensors file of a checkpoint.
What is a shard? / What does shard mean in Sluice? / Which files are the shards?
= A slot is memory for one segment: an expert or a panel.
What is a slot? / What does slot mean in Sluice? / What is kept in a slot?
= A panel is consecutive rows of one spine matrix that travel together.
What is a panel? / What does panel mean in Sluice? / Of what does a panel consist?
= A token is a piece of text: a word, a part of a word or a mark.
What is a token? / What are tokens? / What does token mean for a language model?
= The router chooses which experts work on a token.
What is the router? / What does the router do? / Who chooses the experts of a token?
= The released files need 96 shards, an index, config.json and the tokenizer files.
Which files does Sluice need? / How many shards has Kimi K3? / What files does the model folder
need?
= No. The files are read in place, and nothing is converted.
Must I convert the model? / Does Sluice convert the files? / Do I have to convert Kimi K3?
= No, Sluice runs on an ordinary computer without a graphics card.
Does Sluice need a GPU? / Do I need a graphics card? / Must I have a GPU?
= Sluice refuses the budget and names the smallest that works.
What happens when the memory is too small? / What does Sluice do with too small a budget? / What
happens if the budget is too small?
= Start at docs/architecture.md.
Where do I start to read the source? / Where is the architecture described? / Which page should I
read first?
= The file docs/cli.md lists every option.
Where are the options described? / Which page lists the options? / Where do I find all options?
= The bytes decide the speed, because the experts come from the drives.
What decides the speed of Sluice? / Why is Sluice slow? / What limits the speed of Sluice?
"""


def fact_rows() -> list[dict[str, str]]:
    """A row for each question."""
    return [
        {"subject": question, "response": response}
        for response, questions in blocks(FACTS)
        for question in questions.split(" / ")
    ]


def kinds() -> list[Kind]:
    return [
        Kind(
            "sluice",
            (
                "{subject}",
                "Please tell me: {subject}",
                "I have a question: {subject}",
                "Can you tell me: {subject}",
                "Hello! {subject}",
                "{subject} Please answer.",
                "I want to know: {subject}",
            ),
            "The user asks about Sluice or Kimi K3, and I know the answer.",
            "{response}",
            fact_rows(),
        )
    ]
