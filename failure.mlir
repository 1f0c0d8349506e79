// --element=f32 --reduction=sum --code-shape=unrolled  # segments of 1 elements of 4 bytes, ranks by memory, schedule: grown
module {
  coll.topology @machine ranks = 8 {
    coll.link 0 -> 1 bandwidth = 1
    coll.link 0 -> 6 bandwidth = 1
    coll.link 0 -> 7 bandwidth = 2
    coll.link 1 -> 0 bandwidth = 1
    coll.link 1 -> 2 bandwidth = 2
    coll.link 1 -> 3 bandwidth = 1
    coll.link 1 -> 4 bandwidth = 1
    coll.link 1 -> 7 bandwidth = 2
    coll.link 2 -> 5 bandwidth = 1
    coll.link 2 -> 6 bandwidth = 1
    coll.link 3 -> 1 bandwidth = 1
    coll.link 3 -> 4 bandwidth = 1
    coll.link 3 -> 5 bandwidth = 1
    coll.link 3 -> 7 bandwidth = 1
    coll.link 4 -> 1 bandwidth = 1
    coll.link 4 -> 3 bandwidth = 1
    coll.link 4 -> 6 bandwidth = 2
    coll.link 5 -> 0 bandwidth = 2
    coll.link 5 -> 2 bandwidth = 2
    coll.link 5 -> 3 bandwidth = 2
    coll.link 6 -> 2 bandwidth = 2
    coll.link 6 -> 7 bandwidth = 1
    coll.link 7 -> 0 bandwidth = 1
    coll.link 7 -> 6 bandwidth = 1
  }
  coll.collective @fewer ranks = 8 chunks = 1 distinct = 63 {
    coll.pre 0 has [0, 1, 2, 3, 4, 5, 6, 7]
    coll.pre 1 has [8, 9, 10, 11, 12, 13, 14, 15]
    coll.pre 2 has [16, 17, 18, 19, 20, 21, 22, 23]
    coll.pre 3 has [24, 25, 26, 27, 28, 29, 30, 31]
    coll.pre 4 has [32, 33, 34, 35, 36, 37, 38, 39]
    coll.pre 5 has [40, 41, 42, 43, 44, 45, 46, 47]
    coll.pre 6 has [48, 49, 50, 51, 52, 53, 54, 55]
    coll.pre 7 has [56, 57, 58, 59, 60, 61, 62]
    coll.post 0 has [0, 8, 16, 24, 32, 40, 48, 56]
    coll.post 1 has [1, 9, 17, 25, 33, 41, 49, 57]
    coll.post 2 has [2, 10, 18, 26, 34, 42, 50, 58]
    coll.post 3 has [3, 11, 19, 27, 35, 43, 51, 59]
    coll.post 4 has [4, 12, 20, 28, 36, 44, 52, 60]
    coll.post 5 has [5, 13, 21, 29, 37, 45, 53, 61]
    coll.post 6 has [6, 14, 22, 30, 38, 46, 54, 62]
    coll.post 7 has [7, 15, 23, 31, 39, 47, 55]
  }
  coll.schedule @schedule of @fewer on @machine chunks = 1 {
    coll.step rounds = 3 {
      coll.send 0, 7 over 0 -> 6
      coll.send 1 over 0 -> 7
      coll.send 5 over 0 -> 1
      coll.send 9 to 10, 14 over 1 -> 0
      coll.send 9 over 1 -> 3
      coll.send 9, 12 over 1 -> 4
      coll.send 17 to 18, 21 over 2 -> 6
      coll.send 24 to 25, 31 over 3 -> 1
      coll.send 24, 27 over 3 -> 7
      coll.send 25, 30 over 3 -> 5
      coll.send 33, 37, 39 over 4 -> 3
      coll.send 40, 43 to 44 over 5 -> 2
      coll.send 41, 45 over 5 -> 3
      coll.send 42 over 5 -> 0
      coll.send 56, 59, 61 over 7 -> 0
      coll.send 56, 58, 61 over 7 -> 6
    }
    coll.step rounds = 3 {
      coll.send 0, 2, 42 over 0 -> 7
      coll.send 1 to 2, 6 over 0 -> 1
      coll.send 1, 27, 62 over 7 -> 6
      coll.send 9 over 3 -> 7
      coll.send 10 to 11 over 1 -> 4
      coll.send 10 over 1 -> 7
      coll.send 15 over 1 -> 0
      coll.send 15 over 1 -> 3
      coll.send 18 over 6 -> 7
      coll.send 25 over 5 -> 2
      coll.send 26, 31 over 3 -> 4
      coll.send 27, 58, 60 over 7 -> 0
      coll.send 35, 37 over 4 -> 1
      coll.send 35 over 4 -> 3
      coll.send 39, 45 over 3 -> 1
      coll.send 41 over 5 -> 0
      coll.send 42 over 5 -> 3
    }
    coll.step rounds = 3 {
      coll.send 6 over 1 -> 3
      coll.send 7, 14, 41 over 0 -> 7
      coll.send 7, 48, 56 over 6 -> 2
      coll.send 10 over 7 -> 6
      coll.send 11, 37 over 1 -> 7
      coll.send 13 over 1 -> 4
      coll.send 16, 18, 23 over 2 -> 5
      coll.send 18, 24 over 7 -> 0
      coll.send 24, 28 to 29 over 3 -> 4
      coll.send 25, 40, 43 over 5 -> 0
      coll.send 26 to 38 by 6 over 4 -> 1
      coll.send 31 over 3 -> 5
      coll.send 32 over 4 -> 3
      coll.send 33, 45 over 3 -> 7
      coll.send 39 over 4 -> 6
      coll.send 40, 44 over 2 -> 6
      coll.send 40, 44, 46 over 5 -> 3
      coll.send 41, 46 over 5 -> 2
      coll.send 42 over 3 -> 1
      coll.send 48, 52, 55 over 6 -> 7
      coll.send 56, 58 over 0 -> 1
    }
    coll.step rounds = 3 {
      coll.send 4, 15, 43 over 0 -> 7
      coll.send 6 over 1 -> 2
      coll.send 6, 15, 39 over 3 -> 5
      coll.send 7, 19 over 2 -> 5
      coll.send 11, 13, 34 over 4 -> 3
      coll.send 15, 41, 46 over 3 -> 4
      coll.send 28, 32 over 4 -> 6
      coll.send 31 to 32, 35 over 1 -> 7
      coll.send 36 over 4 -> 1
      coll.send 40 over 0 -> 1
      coll.send 41, 46 over 3 -> 1
      coll.send 45 over 5 -> 2
      coll.send 49, 51, 54 over 6 -> 2
      coll.send 55, 57, 62 over 7 -> 0
      coll.send 59 over 7 -> 6
    }
    coll.step rounds = 3 {
      coll.send 2, 43 over 0 -> 6
      coll.send 5 to 6, 40 over 0 -> 7
      coll.send 6, 25, 27 over 3 -> 4
      coll.send 10, 38 over 4 -> 3
      coll.send 11, 33 over 7 -> 0
      coll.send 13 over 1 -> 0
      coll.send 14, 42 over 7 -> 6
      coll.send 16, 19, 43 over 5 -> 3
      coll.send 20, 56 over 2 -> 5
      coll.send 24, 32 over 3 -> 5
      coll.send 30, 42 over 5 -> 2
      coll.send 33 to 34, 46 over 4 -> 6
      coll.send 39, 46 over 1 -> 7
      coll.send 43, 59 over 0 -> 1
      coll.send 45 over 5 -> 0
    }
    coll.step rounds = 3 {
      coll.send 7, 18 over 0 -> 1
      coll.send 11 over 0 -> 6
      coll.send 11, 37 to 38 over 3 -> 5
      coll.send 12, 58 over 1 -> 3
      coll.send 12 over 1 -> 7
      coll.send 13, 25 over 0 -> 7
      coll.send 15 to 47 by 16 over 5 -> 2
      coll.send 17, 51, 54 over 2 -> 5
      coll.send 19 over 3 -> 7
      coll.send 23 over 5 -> 0
      coll.send 29 over 4 -> 6
      coll.send 35 over 7 -> 6
      coll.send 45 over 3 -> 4
      coll.send 46, 48, 52 over 7 -> 0
      coll.send 50, 53, 61 over 6 -> 2
      coll.send 50 over 6 -> 7
      coll.send 59 over 1 -> 4
    }
    coll.step rounds = 3 {
      coll.send 4 to 5 over 7 -> 6
      coll.send 6, 47 over 2 -> 6
      coll.send 10 over 3 -> 5
      coll.send 12, 31, 37 over 4 -> 6
      coll.send 12, 35, 39 over 7 -> 0
      coll.send 13 over 0 -> 6
      coll.send 19 over 3 -> 1
      coll.send 23 over 0 -> 7
      coll.send 27, 34 over 4 -> 1
      coll.send 31 over 1 -> 0
      coll.send 36, 59 over 4 -> 3
      coll.send 44 over 3 -> 7
      coll.send 48, 50 over 2 -> 5
      coll.send 49 over 6 -> 7
      coll.send 54 over 5 -> 0
    }
    coll.step rounds = 3 {
      coll.send 0 to 1, 27 over 6 -> 2
      coll.send 3, 54 over 0 -> 1
      coll.send 3, 9, 57 over 0 -> 6
      coll.send 3, 54 over 0 -> 7
      coll.send 5 over 1 -> 3
      coll.send 10, 26, 34 over 1 -> 2
      coll.send 15, 25, 45 over 7 -> 6
      coll.send 16, 44 over 3 -> 1
      coll.send 19 to 20, 30 over 2 -> 6
      coll.send 19 over 3 -> 4
      coll.send 26, 30 over 3 -> 7
      coll.send 29, 35 to 36 over 3 -> 5
      coll.send 34 to 38 by 2 over 1 -> 7
      coll.send 50 over 5 -> 3
    }
    coll.step rounds = 3 {
      coll.send 0, 60 to 61 over 0 -> 1
      coll.send 1, 26 over 2 -> 5
      coll.send 2, 7 to 8 over 1 -> 3
      coll.send 2, 16, 58 over 1 -> 4
      coll.send 5 over 3 -> 5
      coll.send 16, 28 to 29 over 3 -> 7
      coll.send 17, 51 over 6 -> 7
      coll.send 18, 23 over 5 -> 3
      coll.send 20 over 5 -> 0
      coll.send 23, 36 over 7 -> 6
      coll.send 26, 38, 41 over 4 -> 6
      coll.send 28, 33 over 4 -> 1
      coll.send 29 to 30, 50 over 3 -> 1
      coll.send 34, 37 over 7 -> 0
    }
    coll.step rounds = 3 {
      coll.send 3 over 1 -> 3
      coll.send 5, 58 over 1 -> 2
      coll.send 8 to 9, 13 over 3 -> 5
      coll.send 8 over 3 -> 7
      coll.send 16, 22 over 2 -> 6
      coll.send 21, 34, 61 over 2 -> 5
      coll.send 21, 53 over 6 -> 7
      coll.send 23 over 3 -> 4
      coll.send 24 over 4 -> 6
      coll.send 28, 32, 55 over 6 -> 2
      coll.send 30 over 1 -> 0
      coll.send 38 over 5 -> 0
      coll.send 38 over 5 -> 2
      coll.send 48, 51, 56 over 5 -> 3
      coll.send 60 over 7 -> 6
    }
    coll.step rounds = 3 {
      coll.send 0 to 1, 60 over 1 -> 3
      coll.send 0, 27, 55 over 2 -> 5
      coll.send 2, 59 over 3 -> 5
      coll.send 5, 7, 30 over 3 -> 4
      coll.send 8, 36 over 1 -> 2
      coll.send 8 over 7 -> 6
      coll.send 17, 21 over 5 -> 0
      coll.send 20 over 0 -> 7
      coll.send 22 over 6 -> 7
      coll.send 24, 37, 39 over 5 -> 2
      coll.send 48, 55 over 0 -> 1
      coll.send 61 over 5 -> 3
    }
    coll.step rounds = 3 {
      coll.send 4, 23 over 0 -> 1
      coll.send 8, 16 over 5 -> 0
      coll.send 14, 54 to 55 over 1 -> 3
      coll.send 14 over 6 -> 2
      coll.send 20 over 5 -> 3
      coll.send 28, 33 over 3 -> 5
      coll.send 47 over 6 -> 7
      coll.send 48 over 3 -> 4
      coll.send 49, 58 over 2 -> 5
      coll.send 50 over 7 -> 0
      coll.send 51 over 3 -> 1
      coll.send 59 over 5 -> 2
    }
    coll.step rounds = 2 {
      coll.send 9, 29, 33 over 5 -> 2
      coll.send 14 over 3 -> 5
      coll.send 17 over 0 -> 1
      coll.send 20 over 3 -> 1
      coll.send 26, 28, 47 over 5 -> 0
      coll.send 32 over 7 -> 0
      coll.send 47 over 5 -> 3
      coll.send 60 over 1 -> 2
    }
    coll.step rounds = 2 {
      coll.send 2 over 1 -> 2
      coll.send 3, 12 over 3 -> 5
      coll.send 4, 17 over 1 -> 3
      coll.send 20 over 3 -> 4
      coll.send 21 over 5 -> 3
      coll.send 29 over 1 -> 0
      coll.send 47 over 3 -> 1
      coll.send 60 over 2 -> 5
    }
    coll.step rounds = 3 {
      coll.send 1, 21, 54 over 3 -> 4
      coll.send 11 over 5 -> 2
      coll.send 12 to 13 over 1 -> 2
      coll.send 19 over 5 -> 0
      coll.send 21 over 3 -> 1
      coll.send 22, 53 over 2 -> 5
      coll.send 36 over 1 -> 0
      coll.send 44, 51 over 7 -> 0
      coll.send 49 over 5 -> 3
    }
    coll.step rounds = 3 {
      coll.send 0, 42 over 3 -> 4
      coll.send 4 over 3 -> 5
      coll.send 14, 47, 55 over 1 -> 4
      coll.send 22, 49 over 7 -> 0
      coll.send 35 over 5 -> 2
      coll.send 49 over 3 -> 1
      coll.send 52, 57 over 0 -> 1
      coll.send 53 over 5 -> 0
    }
    coll.step rounds = 2 {
      coll.send 3 to 4 over 5 -> 2
      coll.send 22, 53 over 0 -> 1
      coll.send 22, 53 over 5 -> 3
      coll.send 56 over 1 -> 4
      coll.send 57 over 1 -> 3
      coll.send 57, 62 over 6 -> 2
    }
    coll.step rounds = 3 {
      coll.send 43 to 44 over 1 -> 4
      coll.send 52 over 1 -> 2
      coll.send 52 over 1 -> 3
      coll.send 57, 62 over 2 -> 5
      coll.send 62 over 0 -> 1
    }
    coll.step rounds = 1 {
      coll.send 52 over 2 -> 5
      coll.send 60 over 1 -> 4
      coll.send 62 over 1 -> 3
    }
    coll.step rounds = 1 {
      coll.send 52 over 1 -> 4
    }
    coll.step rounds = 2 {
      coll.send 4, 61 over 3 -> 4
      coll.send 51, 57 over 1 -> 4
    }
  }
}
