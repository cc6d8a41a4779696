"""Names of the Atari 2600 games. Data only, so that manifests can use it without importing an emulator."""

from __future__ import annotations

ATARI_100K: tuple[str, ...] = tuple(
    """
    Alien Amidar Assault Asterix BankHeist BattleZone Boxing Breakout ChopperCommand CrazyClimber
    DemonAttack Freeway Frostbite Gopher Hero Jamesbond Kangaroo Krull KungFuMaster MsPacman Pong
    PrivateEye Qbert RoadRunner Seaquest UpNDown
    """.split()  # noqa: SIM905 - a table of names reads best as text
)
"""The 26 games of Atari 100k (Kaiser et al. 2019, arXiv:1903.00374)."""

CLASSIC_GAMES: tuple[str, ...] = tuple(
    """
    Adventure AirRaid Alien Amidar Assault Asterix Asteroids Atlantis BankHeist BattleZone BeamRider
    Berzerk Bowling Boxing Breakout Carnival Centipede ChopperCommand CrazyClimber Defender
    DemonAttack DoubleDunk ElevatorAction Enduro FishingDerby Freeway Frostbite Gopher Gravitar Hero
    IceHockey Jamesbond JourneyEscape Kangaroo Krull KungFuMaster MontezumaRevenge MsPacman
    NameThisGame Phoenix Pitfall Pong Pooyan PrivateEye Qbert Riverraid RoadRunner Robotank Seaquest
    Skiing Solaris SpaceInvaders StarGunner Tennis TimePilot Tutankham UpNDown Venture VideoPinball
    WizardOfWor YarsRevenge Zaxxon
    """.split()  # noqa: SIM905 - a table of names reads best as text
)
"""The 62 games that also have the older ids `X-v0`, `X-v4`, `XNoFrameskip-v0` and `XNoFrameskip-v4`."""

_NEWER_GAMES = """
    Atlantis2 Backgammon BasicMath Blackjack Casino Crossbow Darkchambers DonkeyKong Earthworld
    Entombed Et FlagCapture Frogger Galaxian Hangman HauntedHouse HumanCannonball Kaboom
    KeystoneKapers KingKong Klax Koolaid LaserGates LostLuggage MarioBros MiniatureGolf MrDo Othello
    Pacman Pitfall2 SirLancelot SpaceWar Superman Surround Tetris TicTacToe3D Trondead Turmoil
    VideoCheckers VideoChess VideoCube WordZapper
"""

ATARI_GAMES: tuple[str, ...] = tuple(sorted((*CLASSIC_GAMES, *_NEWER_GAMES.split())))
"""All 104 games with an `ALE/X-v5` id."""
