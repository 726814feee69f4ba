"""Plain meanings of everyday words, and words that the curriculum leaves out."""

MEANINGS = """
airport | a place where planes land and take off
apple | a round fruit that grows on trees
arm | the part of the body between the shoulder and the hand
aunt | the sister of your mother or father
baby | a very young child
bag | a soft container for carrying things
baker | a person who makes bread and cakes
ball | a round thing that is used in games
bank | a place where people keep their money
bear | a large and strong animal with thick fur
bed | a piece of furniture to sleep on
bee | an insect that makes honey
big | large in size
bird | an animal with feathers and wings
bicycle | a vehicle with two wheels and pedals
boat | a small vessel for traveling on water
book | a set of printed pages bound together
boot | a strong shoe that covers the ankle
bottle | a container with a narrow neck for liquids
box | a container with flat sides and a lid
boy | a male child
branch | a part of a tree that grows out of the trunk
bread | a food made of flour and water and baked in an oven
break | to make something fall into pieces
bridge | a structure that carries a road over water
bring | to come with something
brother | a boy or man who has the same parents
build | to make something by putting parts together
bus | a large vehicle that carries many passengers
butter | a soft yellow food made from cream
button | a small round thing that closes a shirt or coat
buy | to get something by paying money
cake | a sweet food that is baked in an oven
camera | a device for taking pictures
candle | a stick of wax that gives light when it burns
car | a vehicle with four wheels and an engine
carpenter | a person who makes things from wood
carry | to hold something and take it somewhere
castle | a large old building with thick walls and towers
cat | a small furry animal that people keep as a pet
chair | a seat for one person with a back
cheese | a solid food made from milk
chicken | a bird that is kept for its eggs and meat
child | a young person
city | a large town
clean | free from dirt
clock | a device that shows the time
close | to shut
cloud | a white or gray mass of tiny drops in the sky
coat | a warm piece of clothing with sleeves
coffee | a hot drink made from roasted beans
cold | having a low temperature
color | what the eye sees as red, green, blue and so on
come | to move toward someone
computer | a machine that works with data and programs
cook | to make food ready to eat by heating it
country | a land with its own government
cow | a large farm animal that gives milk
cry | to have tears running from the eyes
cup | a small container to drink from
cut | to divide something with a knife or scissors
dance | to move the body to music
dark | with little or no light
day | a time of twenty-four hours
dentist | a doctor who takes care of teeth
desert | a dry place where few plants grow
desk | a table for reading and writing
dictionary | a book that explains words
dog | an animal that barks and is kept as a pet
door | what you open to enter a room or building
draw | to make a picture with a pen or pencil
dream | pictures and stories in the mind during sleep
dress | a piece of clothing for women and girls
drink | to take liquid into the mouth and swallow it
drive | to make a car or bus move and steer it
dry | without water
ear | the part of the body that hears
easy | not hard to do
eat | to put food into the mouth and swallow it
egg | a round thing with a shell that a bird lays
elephant | a very large gray animal with a trunk
empty | with nothing inside
engine | a machine that makes something move
eye | the part of the body that sees
fall | to drop down to the ground
family | parents and their children
farm | land where crops grow and animals are kept
farmer | a person who works on a farm
fast | moving at high speed
father | a male parent
finger | one of the five long parts of the hand
fire | the heat, light and flames of something that burns
fish | an animal that lives and breathes in water
flag | a piece of cloth that is the sign of a country
floor | the part of a room that you walk on
flower | the colored part of a plant
fly | to move through the air
food | what people and animals eat
foot | the part of the body at the end of the leg
forest | a large area full of trees
fork | a tool with points for eating
friend | a person you know well and like
fruit | the sweet part of a plant that holds the seeds
full | with no space left inside
game | something that people play for fun
garden | a piece of land where flowers or vegetables grow
girl | a female child
give | to let someone have something
glass | a hard clear material that breaks easily
go | to move from one place to another
good | of high quality
grass | the green plant that covers fields and lawns
hair | the thin threads that grow on the head
hammer | a tool for hitting nails
hand | the part of the body at the end of the arm
happy | feeling glad
hat | a piece of clothing for the head
head | the part of the body with the eyes, ears and mouth
hear | to notice sounds with the ears
heart | the organ that pumps blood through the body
heavy | hard to lift
help | to make a task easier for someone
hill | a small mountain
holiday | a day when people do not work
honey | a sweet food that bees make
horse | a large animal that people can ride
hospital | a building where sick people are treated
hot | having a high temperature
hotel | a building with rooms for travelers
hour | a time of sixty minutes
house | a building where people live
hungry | wanting to eat
ice | water that is frozen
island | land with water all around it
jacket | a short coat
jump | to push yourself off the ground with your legs
key | a small piece of metal that opens a lock
king | a man who rules a country
kitchen | a room where food is cooked
knife | a tool with a blade for cutting
lake | a large area of water with land around it
lamp | a device that gives light
language | the words that people use to speak and write
laugh | to make sounds because something is funny
leaf | a flat green part of a plant
leg | the part of the body that you walk with
lemon | a yellow fruit with a sour taste
letter | a sign of the alphabet
library | a place where people can read and borrow books
light | what makes it possible to see things
lion | a large wild cat that roars
listen | to pay attention to a sound
live | to have life
long | measuring much from one end to the other
love | to like someone very much
lunch | the meal in the middle of the day
machine | a thing with moving parts that does work
man | an adult male person
map | a drawing that shows where places are
market | a place where people buy and sell things
medicine | something that helps sick people get well
meet | to come together with someone
milk | the white drink that comes from cows
mirror | a glass in which you can see yourself
money | coins and notes that people use to pay
month | one of the twelve parts of a year
moon | the round body that moves around the earth
morning | the early part of the day
mother | a female parent
mountain | a very high hill
mouse | a small animal with a long tail
mouth | the part of the face that eats and speaks
museum | a building that shows old or beautiful things
music | sounds that are pleasant to hear
name | the word by which a person or thing is called
neighbor | a person who lives near you
new | not old
newspaper | sheets of paper with the news of the day
night | the dark time between evening and morning
noise | a loud sound
nose | the part of the face that smells and breathes
nurse | a person who takes care of sick people
ocean | a very large area of salt water
old | having lived or existed for a long time
onion | a round vegetable with a strong smell
open | not closed
orange | a round sweet fruit with a thick skin
paint | to put color on something
paper | thin sheets to write or print on
parent | a father or a mother
park | a place with grass and trees where people can rest
pen | a tool for writing with ink
pencil | a tool for writing and drawing that contains graphite
person | a human being
piano | a large instrument with black and white keys
picture | a painting, drawing or photograph
pilot | a person who flies a plane
plane | a vehicle with wings that flies
planet | a large round body that moves around a star
plant | a living thing that grows in the ground
plate | a flat dish for food
play | to do something for fun
poem | a text written in verses
poor | having little money
potato | a vegetable that grows under the ground
question | a sentence that asks for an answer
quick | done in a short time
quiet | making little or no noise
rain | water that falls from the clouds
read | to look at words and understand them
rich | having a lot of money
ring | a round piece of jewelry for a finger
river | a large stream of water that flows to the sea
road | a way on which cars can drive
roof | the top of a building
room | a part of a building with walls of its own
run | to move fast on foot
sad | not happy
sailor | a person who works on a ship
salt | white grains that are put on food
sand | tiny grains of stone on a beach
school | a place where children learn
scissors | a tool with two blades for cutting paper
sea | a large area of salt water
see | to notice things with the eyes
sell | to give something for money
sheep | a farm animal that gives wool
ship | a large boat
shirt | a piece of clothing with sleeves and buttons
shoe | a piece of clothing for the foot
shop | a place where things are sold
short | not long
sick | not healthy
sing | to make music with the voice
sister | a girl or woman who has the same parents
sit | to rest on a chair or on the ground
skin | the outer layer of the body
sleep | to rest with closed eyes
slow | taking a long time
small | not big
snow | soft white ice that falls from the sky
soap | something to wash with
sock | a piece of clothing that you wear inside a shoe
soft | not hard
soldier | a person who serves in an army
song | a piece of music with words
soup | a liquid food that you eat with a spoon
speak | to say words
spoon | a tool for eating soup
spring | the season between winter and summer
stairs | a row of steps in a building
star | a large ball of hot gas that shines in the sky
station | a place where trains or buses stop
stone | a small piece of rock
stop | to end
storm | very bad weather with strong wind
story | a tale about people and events
street | a road in a town
strong | having much power
student | a person who learns at a school or university
sugar | sweet grains that are put in food and drinks
summer | the warmest season of the year
sun | the star that gives light and heat to the earth
sweet | tasting like sugar
swim | to move through water with the arms and legs
table | a piece of furniture with a flat top and legs
tail | the long thin part at the end of an animal
tall | high from top to bottom
tea | a hot drink made from leaves
teacher | a person who helps others to learn
tooth | one of the hard white things in the mouth
telephone | a device for talking to people far away
tent | a shelter made of cloth
thief | a person who steals
think | to use the mind
thirsty | wanting to drink
ticket | a piece of paper that shows that you have paid
time | what a clock measures
tired | needing rest or sleep
tool | a thing that helps you do a job
town | a place with houses that is smaller than a city
toy | a thing that children play with
train | a row of cars that runs on rails
travel | to go from one place to another
tree | a tall plant with a trunk and branches
truck | a large vehicle that carries heavy loads
uncle | the brother of your mother or father
umbrella | a thing that you hold over your head in the rain
vegetable | a plant or part of a plant that is eaten
village | a place with a few houses in the country
wait | to stay until something happens
walk | to move on foot
wall | a side of a room or building
warm | a little hot
wash | to make clean with water
watch | a small clock that you wear on the arm
water | the clear liquid in rivers, lakes and seas
weather | how hot, cold, wet or windy it is outside
week | a time of seven days
wet | covered with water
wheel | a round thing that turns and helps a car move
wind | air that moves
window | an opening with glass in a wall
wing | the part of a bird or plane that it flies with
winter | the coldest season of the year
woman | an adult female person
wood | what trees are made of
word | a group of letters that has a meaning
work | to do a job
write | to put words on paper
year | a time of twelve months
young | not old
"""

# Words whose first sense in WordNet is rare or misleading.
ODD = set(
    """
    accepted ace acetone adjourn affected agent akin alcoholic alveolar amount amp andrena
    annual anode antithyroid apprentice approved arc arrow article aspiration ass award bar
    barrel base battery bearer bent bethink binding binomial birdie bit blade block board bob
    boom bore bound bowed breakdown british bronc bronchus brood buckskin builder bunk bureau
    cabin capital caress carriage cast cathode catkin celebrate cell chamber changed channel
    charge charged chest choice cholesterol chord chorus clarity clay clerical clever client
    closed cock code colonial column coming commune communism commute complaint complement
    compound concerned concrete conductor conjugated conserve consign contention cop corporal
    counsel counselor counter county covered crew cross crown cruise crushed crushing cubist
    current cytoplasm darned deal dean decent deck deep delivery dialyze digest disc dish
    disorder disposal divine dodge domain dominant dominion done double effluent epiphysis
    etcetera faculty fag fallout feedlot fellow fig file fine fittings flounder flux foil folk
    frame french fringe gay generator german gin given glove grade graduate grand granted
    graphite gross grown guide headache heroic higher homer homozygous hop hut hydrogen
    hypothalamus ideal illumine impulse inner instal intercourse interior interlobular
    intermediate iodide iodinated italian jazz jealous jewish ketosis kid killing labor landing
    lean learned liberal lick lighted likely literal litter loaded lots lousy lumber lyric mail
    major mama mamma manifold manometer maturity mean means measure measured mechanism medium
    men millidegree mimesis minister minor missing mode modifier monitor moving muse musketry
    naked native nature negro neutrophil nilpotent nineteenth nothing objective odd official one
    onset opening oral order ordered ordering orderly orgasm origin other outer outfit painting
    pant papa paradigm parked passage passive paste pastor patent patient patrol pattern pbs
    peculiar perch persistence petition petitioner phosphate pipe pitch plague plane plate
    pleural plum point pole polynomial portrait posse pound prairie primitive probe prohibition
    prompt qualified queer quiet quirt rail range rating reactivity reader reb reciprocal record
    reluctant removed resistance retired ribbon rolling romance rotor rpm rustling salary saline
    saloon satisfied scenario scenic scour scours screen secretary seed sense series set sever
    sheer shooting short shunt sign simulated singular skeptical slack slice slug socialism soil
    sort southpaw sovereign specter spectrum sportsman spot square stable staff stage stain
    stained stature stem stereotyped stock strain strained straw string subsection subtle suite
    sum supreme swear swollen tactual tailor tangent tap teamster tear term terminal test thanks
    thousand thymus thyroid tonal tone tracing track trader tramp transducer trigger turned type
    unadjusted unfold unspeakable unstructured used utility utopian vapor vector vessel vital
    volume wage weird well whole wield withholding
    """.split()
)

# Words that no meaning may contain.
UNSUITABLE = set(
    """
    sex sexual sexually sexes genital genitals penis vagina breast breasts nipple anus anal
    erotic prostitute prostitutes prostitution brothel whore slut rape rapist pornography
    pornographic semen sperm copulation copulate intercourse orgasm masturbate homosexual
    homosexuals lesbian nude nudity naked buttocks crotch groin testis testicle scrotum feces
    fecal excrement urine urinate urination defecate defecation bowel bowels murder murderer
    suicide corpse torture slaughter massacre genocide hitler nazi nazis nazism negro negroes
    nigger jew jews jewish heroin cocaine narcotic opium marijuana drunk drunkard drunken
    drunkenness intoxicated offensive obscene obscenity vulgar slang derogatory disparaging
    disparagement ethnic racist racial race fool idiot imbecile moron bastard bitch damn goddamn
    hell lewd lust lecherous incest adultery adulterous illegitimate abortion fetus castrate
    harem concubine mistress slave slavery kill killed killing terrorist terrorism execution
    executed cannibal sadism
    """.split()
)
