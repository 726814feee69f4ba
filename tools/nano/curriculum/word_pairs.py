"""Opposites, other words for words, and the members of everyday categories."""

# Each pair is asked in both directions, unless the second word has a pair of its own before.
OPPOSITES = """
hot cold / big small / good bad / happy sad / fast slow / high low / long short / old young
new old / light dark / day night / black white / hard soft / strong weak / rich poor
full empty / open closed / clean dirty / wet dry / loud quiet / easy difficult / thick thin
wide narrow / deep shallow / heavy light / near far / early late / first last / left right
up down / in out / on off / over under / above below / before after / inside outside
front back / top bottom / north south / east west / summer winter / morning evening
begin finish / start stop / come go / arrive depart / give take / buy sell / push pull
love hate / laugh cry / win lose / remember forget / ask answer / teach learn
live die / rise fall / sit stand / sleep wake / build destroy / break repair / lend borrow
save spend / accept refuse / agree disagree / allow forbid / appear disappear / attack defend
catch throw / increase decrease / expand shrink / export import / fill drain / float sink
freeze melt / include exclude / join separate / lead follow / lock unlock / tie untie
wrap unwrap / pack unpack / dress undress / raise lower / reward punish / succeed fail
tighten loosen / unite divide / whisper shout / praise criticize / hide show / hire fire
always never / often seldom / everything nothing / everybody nobody / everywhere nowhere
yes no / true false / correct wrong / same different / many few / more less / most least
all none / plus minus / maximum minimum / major minor / man woman / boy girl / king queen
father mother / brother sister / son daughter / uncle aunt / husband wife / prince princess
friend enemy / teacher student / doctor patient / host guest / employer employee
buyer seller / winner loser / hero villain / giant dwarf / adult child / male female
life death / war peace / truth lie / heaven hell / victory defeat / success failure
strength weakness / wealth poverty / joy sorrow / hope despair / courage fear
knowledge ignorance / beginning end / question answer / entrance exit / ceiling floor
profit loss / noise silence / order chaos / danger safety
advantage disadvantage / beauty ugliness / future past / sunrise sunset / arrival departure
ascent descent / heat cold / presence absence / guilt innocence
brave cowardly / bright dim / calm nervous / careful careless / cheap expensive
clever stupid / common rare / cruel kind / dangerous safe / dead alive / dull sharp
fair unfair / familiar strange / famous unknown / fat thin / flat hilly / foolish wise
fresh stale / generous stingy / gentle harsh / guilty innocent / healthy sick
honest dishonest / huge tiny / humble proud / important unimportant / interesting boring
lazy busy / legal illegal / lucky unlucky / mature immature / modern old-fashioned
natural artificial
neat messy / normal abnormal / optimistic pessimistic / patient impatient / perfect imperfect
permanent temporary / polite rude / possible impossible / powerful powerless
pretty ugly / public private / pure impure / rapid sluggish / raw cooked / ripe unripe
simple complicated / single married / smooth rough / solid liquid / sour sweet
straight crooked / tall short / tame wild / tight loose / useful useless / visible invisible
warm cool / whole broken / asleep awake / absent present / active passive / certain doubtful
even odd / foreign domestic / formal informal / friendly unfriendly / fortunate unfortunate
happily sadly / quickly slowly / loudly quietly / together apart / forward backward
upstairs downstairs / ahead behind / likely unlikely / necessary unnecessary / usual unusual
vertical horizontal / violent peaceful / voluntary compulsory
plural singular / positive negative / innocent guilty / obey disobey / trust distrust
like dislike / cover uncover / connect disconnect / load unload / plug unplug / fold unfold
appear vanish / encourage discourage / approve disapprove / continue discontinue / advance retreat
inhale exhale / ascend descend / multiply divide / add subtract / attract repel / admit deny
"""

SYNONYMS = """
begin start / end finish / big large / small little / quick fast / happy glad / sad unhappy
angry furious / smart clever / rich wealthy / sick ill / quiet silent / strange odd
difficult hard / easy simple / beautiful pretty / scared afraid / brave courageous
tired weary / right correct / wrong incorrect / huge enormous / tiny minute / old ancient
cold chilly / wet damp / rough uneven / dirty filthy / clean spotless / famous well-known
important significant / necessary essential / whole entire / rude impolite / polite courteous
kind friendly / funny amusing / boring dull / strong powerful / weak feeble / calm peaceful
lucky fortunate / empty vacant / false untrue / certain sure / whole complete / entire complete
usual normal / rare uncommon / awful terrible / wonderful marvelous / delicious tasty
shut close / speak talk / shout yell / look gaze / cry weep / laugh giggle / jump leap
throw toss / hurry rush / help assist / fix repair / build construct / buy purchase
choose select / collect gather / hide conceal / allow permit / answer reply / ask inquire
get obtain / give donate / hate detest / like enjoy / love adore / show display / stop halt
think consider / try attempt / use employ / want desire / win triumph / wait stay / walk stroll
vanish disappear / arrive come / leave depart / destroy ruin / find discover / follow pursue
forgive pardon / grow increase / happen occur / keep retain / mend repair / need require
pull drag / push shove / receive get / reduce decrease / rest relax / say state / steal rob
teach instruct / tell inform / trust believe / understand comprehend / watch observe
road street / car automobile / bike bicycle / plane airplane / ship vessel / boat ship
house home / shop store / child kid / doctor physician / lawyer attorney / teacher instructor
author writer / friend companion / enemy foe / boss chief / worker employee / baby infant
forest woods / sea ocean / stone rock / hill mound / dirt soil / present gift / prize award
picture image / story tale / song tune / movie film / mistake error / job work / idea thought
plan scheme / chance opportunity / danger peril / fear fright / anger rage / joy delight
fight battle / goal aim / group team / illness disease / noise sound / pain ache / part piece
place location / problem difficulty / reason cause / result outcome / rule law / sofa couch
speech talk / task job / trip journey / trousers pants / wealth riches / autumn fall
center middle / edge border / cellar basement / rubbish garbage / holiday vacation
"""

# Phrase, group, members. Only categories of different groups are offered as a wrong choice, since
# an apple is a food too. A star: no article before the word.
CATEGORIES = """
= an animal | animal
dog cat horse cow pig sheep goat lion tiger bear wolf fox deer rabbit mouse rat monkey elephant
giraffe zebra camel donkey squirrel hedgehog kangaroo koala panda leopard cheetah hippopotamus
rhinoceros beaver otter badger bat whale dolphin seal moose hamster
= a bird | animal
eagle owl robin sparrow crow raven swan goose duck chicken turkey penguin ostrich parrot peacock
pigeon dove stork flamingo falcon hawk pelican woodpecker swallow gull blackbird nightingale
vulture canary
= a fish | animal
salmon trout tuna herring cod carp shark pike eel sardine goldfish mackerel perch catfish
= an insect | animal
bee ant fly mosquito beetle butterfly moth wasp grasshopper ladybug cricket dragonfly flea termite
cockroach
= a reptile | animal
snake lizard crocodile alligator turtle tortoise chameleon gecko cobra python iguana
= an amphibian | animal
frog toad newt salamander
= a tree | plant
oak pine birch maple willow beech fir spruce poplar elm cedar palm chestnut
= a flower | plant
rose tulip daisy lily sunflower daffodil orchid violet carnation poppy dandelion snowdrop
= a fruit | plant
apple banana pear cherry strawberry raspberry peach plum lemon melon pineapple grape mango kiwi
apricot fig blueberry coconut lime watermelon
= a vegetable | plant
carrot potato onion cabbage cauliflower cucumber pea bean leek radish turnip beetroot
= a nut | plant
walnut hazelnut almond cashew pecan
= a spice | plant
*pepper *cinnamon *ginger *saffron *paprika *nutmeg *vanilla
= a drink | plant
*water *milk *tea *coffee *juice *lemonade *beer *wine *cocoa
= a food | plant
*bread *cheese *butter *rice *pasta *cake *chocolate *ham *soup *pizza *honey *jam *yogurt
*sausage *porridge
= a meal | plant
*breakfast *lunch *dinner *supper
= a tool | tool
hammer saw screwdriver wrench axe drill shovel rake chisel spade hoe
= a weapon | tool
sword spear rifle pistol cannon dagger
= a musical instrument | tool
piano violin guitar flute drum trumpet harp cello clarinet saxophone trombone accordion banjo tuba
oboe
= a container | tool
box bottle jar bucket basket bag suitcase barrel vase
= a vehicle | vehicle
car bus truck train bicycle motorcycle tram taxi tractor van scooter ambulance
= a boat | vehicle
canoe kayak ferry yacht gondola rowboat raft sailboat
= a piece of furniture | house
chair table bed sofa desk bookcase cupboard armchair stool wardrobe bench
= a building | house
church school hospital castle hotel barn palace temple factory museum cathedral tower cottage
skyscraper
= a room | house
kitchen bedroom bathroom classroom cellar attic
= a piece of clothing | clothing
shirt coat dress skirt jacket hat scarf glove sock sweater blouse belt cap tie vest
= a fabric | clothing
*cotton *silk *wool *linen *velvet *denim *nylon
= a metal | material
*iron *gold *silver *copper *tin *lead *zinc *aluminum *nickel *platinum
= a gas | material
*oxygen *hydrogen *helium *nitrogen *neon *methane
= a gem | material
diamond ruby emerald sapphire pearl opal
= a color | color
*red *blue *green *yellow *brown *purple *pink *white *gray *turquoise
= a sport | sport
*football *tennis *basketball *baseball *volleyball *golf *hockey *swimming *boxing *skiing
*cycling *judo *rowing *badminton
= a game | sport
*chess *checkers *poker *dominoes *bingo *hopscotch
= a feeling | feeling
*joy *anger *fear *sadness *love *hate *jealousy *pride *shame *surprise
= a language | language
*English *French *German *Spanish *Italian *Russian *Chinese *Japanese *Arabic *Latin *Greek
*Portuguese *Hindi *Swedish *Turkish
= a part of the body | body
arm leg hand foot head nose mouth ear eye knee elbow shoulder finger toe chin
= a season | time
*spring *summer *autumn *winter
= a month | time
*January *February *March *April *May *June *July *August *September *October *November *December
= a day of the week | time
*Monday *Tuesday *Wednesday *Thursday *Friday *Saturday *Sunday
= a kind of weather | time
*rain *snow *fog *wind *hail *sunshine
= a planet | place
*Mercury *Venus *Mars *Jupiter *Saturn *Uranus *Neptune
= a mountain | place
*Kilimanjaro *Denali *Aconcagua
= a shape | shape
circle triangle square rectangle pentagon hexagon oval
= a science | science
*physics *chemistry *biology *astronomy *geology *botany *zoology
"""
